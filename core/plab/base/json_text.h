#pragma once
// SPDX-License-Identifier: Apache-2.0
// Text of unknown origin inside JSON, HTML and SVG.

#include <string>
#include <string_view>

namespace plab {

/// `text` as a JSON string with its quotes, safe inside a script element of a page too: the
/// characters less-than, greater-than and ampersand are written by their numbers. Bytes that are no
/// UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

/// `text` for HTML and XML, in elements and in quoted attributes. Control characters and bytes that
/// are no UTF-8 become U+FFFD.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace plab
