#pragma once
// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floating types that tensors can store, as bits, and their conversions.

#include <cstdint>

namespace plab {

/// IEEE 754 binary16 (kF16): 1 sign, 5 exponent, 10 mantissa bits.
struct Half {
  std::uint16_t bits = 0;
};

/// bfloat16 (kBF16): the upper half of a float.
struct BFloat16 {
  std::uint16_t bits = 0;
};

/// Rounds to nearest, ties to even; over 65504 becomes infinity, NaN stays NaN, and what is below
/// the smallest subnormal half becomes a signed zero.
[[nodiscard]] Half to_half(float value) noexcept;
/// Exact.
[[nodiscard]] float to_float(Half value) noexcept;
/// Rounds to nearest, ties to even; NaN stays NaN.
[[nodiscard]] BFloat16 to_bfloat16(float value) noexcept;
/// Exact.
[[nodiscard]] float to_float(BFloat16 value) noexcept;

}  // namespace plab
