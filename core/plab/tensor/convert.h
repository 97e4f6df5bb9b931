#pragma once
// SPDX-License-Identifier: Apache-2.0
// One element from one dtype to another, defined for every value. Internal to the layer.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "plab/tensor/half.h"

namespace plab::detail {

/// A floating value as a whole number: cut towards zero; NaN gives 0 and what does not fit the
/// nearest end. (C++ leaves both undefined, and PyTorch gives what the processor gives.)
template <typename To, typename From>
[[nodiscard]] To float_to_integer(From value) noexcept {
  // both bounds are powers of two, so they are exact in any floating type
  constexpr From kLow = static_cast<From>(std::numeric_limits<std::int64_t>::min());
  if (!(value >= kLow)) {
    return value != value ? To{0} : static_cast<To>(std::numeric_limits<std::int64_t>::min());
  }
  if (value >= -kLow) return static_cast<To>(std::numeric_limits<std::int64_t>::max());
  const auto whole = static_cast<std::int64_t>(value);
  if constexpr (std::is_same_v<To, std::int32_t>) {
    if (whole < std::numeric_limits<To>::min()) return std::numeric_limits<To>::min();
    if (whole > std::numeric_limits<To>::max()) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(whole);  // uint8 wraps, as in PyTorch
}

/// `value` as a To: whole numbers wrap, anything but zero is true, halves round to nearest even.
template <typename To, typename From>
[[nodiscard]] To convert(From value) noexcept {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(to_float(value));
  } else if constexpr (std::is_same_v<To, Half>) {
    return to_half(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return float_to_integer<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace plab::detail
