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
  // uint8 wraps, as in PyTorch, so it goes through a wider type; the bounds are powers of two and
  // exact in any floating type
  using Wide = std::conditional_t<std::is_same_v<To, std::int32_t>, std::int32_t, std::int64_t>;
  constexpr From kLow = static_cast<From>(std::numeric_limits<Wide>::min());
  // NOLINTNEXTLINE(misc-redundant-expression): only NaN differs from itself
  if (value != value) return To{0};
  if (value < kLow) return static_cast<To>(std::numeric_limits<Wide>::min());
  if (value >= -kLow) return static_cast<To>(std::numeric_limits<Wide>::max());
  return static_cast<To>(static_cast<Wide>(value));
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
