#pragma once
// SPDX-License-Identifier: Apache-2.0
// Every environment variable that plab reads, in one table: `./lab doctor` prints it, and nothing
// else calls getenv for a PLAB_ name.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plab::env {

struct Variable {
  std::string_view name;
  std::string_view fallback;  ///< what holds when it is not set, as text
  std::string_view meaning;
};

/// The whole table, in the order in which it is printed.
[[nodiscard]] std::span<const Variable> table() noexcept;

/// The value of a variable of the table, or nothing when it is unset or empty.
/// @throws ContractError when `name` is not in the table
[[nodiscard]] std::optional<std::string> get(std::string_view name);

/// A whole number between `low` and `high`, or nothing when unset.
/// @throws ContractError naming the variable, the value and the interval when it is anything else
[[nodiscard]] std::optional<std::int64_t> get_int(std::string_view name, std::int64_t low,
                                                  std::int64_t high);

/// True for 1/on/true/yes, false for 0/off/false/no, `fallback` when unset.
/// @throws ContractError for any other value
[[nodiscard]] bool get_bool(std::string_view name, bool fallback);

}  // namespace plab::env
