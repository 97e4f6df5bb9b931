// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/dtype.h"

#include <array>
#include <bit>

#include "plab/tensor/half.h"

namespace plab {

namespace {

struct Facts {
  std::string_view name;
  std::size_t size;
  int category;  // 0 bool, 1 whole number, 2 floating
  int rank;      // order within the category
};

// In the order of the enum.
constexpr std::array<Facts, 8> kFacts{{{"float32", 4, 2, 2},
                                       {"float64", 8, 2, 3},
                                       {"int32", 4, 1, 1},
                                       {"int64", 8, 1, 2},
                                       {"uint8", 1, 1, 0},
                                       {"bool", 1, 0, 0},
                                       {"float16", 2, 2, 1},
                                       {"bfloat16", 2, 2, 1}}};

const Facts& facts(DType dtype) noexcept { return kFacts[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t item_size(DType dtype) noexcept { return facts(dtype).size; }
std::string_view name_of(DType dtype) noexcept { return facts(dtype).name; }
bool is_floating(DType dtype) noexcept { return facts(dtype).category == 2; }

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Facts& x = facts(a);
  const Facts& y = facts(b);
  if (x.category != y.category) return x.category > y.category ? a : b;
  if (x.rank == y.rank) return DType::kF32;  // float16 with bfloat16: neither holds the other
  return x.rank > y.rank ? a : b;
}

Half to_half(float value) noexcept {
  const auto f = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((f >> 16U) & 0x8000U);
  const std::uint32_t magnitude = f & 0x7FFFFFFFU;
  const auto make = [sign](std::uint32_t bits) {
    return Half{static_cast<std::uint16_t>(sign | bits)};
  };
  if (magnitude > 0x7F800000U) return make(0x7E00U | ((magnitude >> 13U) & 0x1FFU));  // NaN
  if (magnitude >= 0x477FF000U) return make(0x7C00U);  // 65520 and more round to infinity
  if (magnitude >= 0x38800000U) {                      // normal: re-bias, round at bit 13
    const std::uint32_t odd = (magnitude >> 13U) & 1U;
    return make((magnitude - 0x38000000U + 0xFFFU + odd) >> 13U);
  }
  if (magnitude < 0x33000000U) return make(0);  // under half of the smallest subnormal
  const std::uint32_t shift = 126U - (magnitude >> 23U);
  const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
  const std::uint32_t half = 1U << (shift - 1U);
  const bool up = rest > half || (rest == half && (kept & 1U) != 0);
  return make(kept + (up ? 1U : 0U));
}

float to_float(Half value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (value.bits >> 10U) & 0x1FU;
  const std::uint32_t mantissa = value.bits & 0x3FFU;
  if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13U));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
  }
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

BFloat16 to_bfloat16(float value) noexcept {
  const auto f = std::bit_cast<std::uint32_t>(value);
  if ((f & 0x7FFFFFFFU) > 0x7F800000U) {
    return BFloat16{static_cast<std::uint16_t>((f >> 16U) | 0x40U)};  // stays a NaN when cut
  }
  return BFloat16{static_cast<std::uint16_t>((f + 0x7FFFU + ((f >> 16U) & 1U)) >> 16U)};
}

float to_float(BFloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}

}  // namespace plab
