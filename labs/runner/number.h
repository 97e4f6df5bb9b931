#pragma once
// SPDX-License-Identifier: Apache-2.0
// A number in a text that another program wrote.

#include <charconv>
#include <string_view>

namespace plab::lab {

/// The whole number that a text starts with: 12 for "12 (discriminator 3)"; 0 without one.
[[nodiscard]] inline int leading_number(std::string_view text) noexcept {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace plab::lab
