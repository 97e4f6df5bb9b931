#pragma once
// SPDX-License-Identifier: Apache-2.0
// Numbers that must not be mixed up have types of their own.

#include <compare>
#include <cstddef>
#include <cstdint>

namespace plab {

/// The number of a process in a group of processes, 0 to world size - 1.
enum class Rank : std::int32_t {};
[[nodiscard]] constexpr std::int32_t to_int(Rank rank) noexcept {
  return static_cast<std::int32_t>(rank);
}

/// A size in bytes.
struct Bytes {
  std::size_t count = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
};

namespace literals {
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes{n << 10U}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes{n << 20U}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes{n << 30U}; }
}  // namespace literals

}  // namespace plab
