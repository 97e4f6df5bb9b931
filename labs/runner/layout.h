#pragma once
// SPDX-License-Identifier: Apache-2.0
// How the tool's answers are laid out: 80 columns, the name of a part in the first eight.

#include <string>
#include <string_view>

namespace plab::lab {

constexpr std::size_t kColumns = 80;

/// "name    text", broken at spaces, every further line set in. Empty for an empty text.
[[nodiscard]] std::string part(std::string_view name, const std::string& text);

}  // namespace plab::lab
