// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/dtype.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "plab/tensor/half.h"

namespace plab {

namespace {
constexpr DType kAll[] = {DType::kF32, DType::kF64,  DType::kI32, DType::kI64,
                          DType::kU8,  DType::kBool, DType::kF16, DType::kBF16};
}

TEST_CASE("Dtypes have PyTorch's names and sizes", "[tensor]") {
  CHECK(name_of(DType::kF32) == "float32");
  CHECK(name_of(DType::kBF16) == "bfloat16");
  CHECK(name_of(DType::kU8) == "uint8");
  CHECK(item_size(DType::kF64) == 8);
  CHECK(item_size(DType::kBool) == 1);
  CHECK(item_size(DType::kF16) == 2);
  CHECK(is_floating(DType::kF16));
  CHECK_FALSE(is_floating(DType::kI64));
}

TEST_CASE("Promotion is torch.promote_types", "[tensor]") {
  using enum DType;
  // rows and columns in the order of kAll
  const DType expected[8][8] = {{kF32, kF64, kF32, kF32, kF32, kF32, kF32, kF32},
                                {kF64, kF64, kF64, kF64, kF64, kF64, kF64, kF64},
                                {kF32, kF64, kI32, kI64, kI32, kI32, kF16, kBF16},
                                {kF32, kF64, kI64, kI64, kI64, kI64, kF16, kBF16},
                                {kF32, kF64, kI32, kI64, kU8, kU8, kF16, kBF16},
                                {kF32, kF64, kI32, kI64, kU8, kBool, kF16, kBF16},
                                {kF32, kF64, kF16, kF16, kF16, kF16, kF16, kF32},
                                {kF32, kF64, kBF16, kBF16, kBF16, kBF16, kF32, kBF16}};
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      INFO(name_of(kAll[i]) << " with " << name_of(kAll[j]));
      CHECK(promote(kAll[i], kAll[j]) == expected[i][j]);
    }
  }
}

TEST_CASE("Every half comes back from float as it was", "[tensor]") {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      if (!std::isnan(to_float(to_half(value)))) FAIL("NaN lost: " << bits);
    } else if (to_half(value).bits != half.bits) {
      FAIL("bits " << bits << " became " << to_half(value).bits);
    }
  }
  SUCCEED();
}

TEST_CASE("Half rounds to the nearest, ties to even", "[tensor]") {
  // neighbours of every half: the middle goes to the even one, just above and below to the nearer
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = to_float(Half{static_cast<std::uint16_t>(bits)});
    const float high = to_float(Half{static_cast<std::uint16_t>(bits + 1)});
    const float middle = low + (high - low) / 2;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    REQUIRE(to_half(middle).bits == even);
    REQUIRE(to_half(-middle).bits == (even | 0x8000U));
    REQUIRE(to_half(std::nextafter(middle, 0.0F)).bits == bits);
    REQUIRE(to_half(std::nextafter(middle, high)).bits == bits + 1);
  }
}

TEST_CASE("Half knows the edges of its range", "[tensor]") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  CHECK(to_half(65504).bits == 0x7BFF);
  CHECK(to_half(65519.996F).bits == 0x7BFF);
  CHECK(to_half(65520).bits == 0x7C00);
  CHECK(to_half(kInf).bits == 0x7C00);
  CHECK(to_half(-kInf).bits == 0xFC00);
  CHECK(to_half(0x1p-24F).bits == 1);
  CHECK(to_half(0x1p-25F).bits == 0);
  CHECK(to_half(0x1.8p-24F).bits == 2);
  CHECK(to_half(-0x1p-40F).bits == 0x8000);
  CHECK(std::isnan(to_float(to_half(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(to_float(to_half(std::bit_cast<float>(0x7F800001U)))));
}

TEST_CASE("Bfloat16 rounds to the nearest, ties to even", "[tensor]") {
  CHECK(to_bfloat16(1).bits == 0x3F80);
  CHECK(to_bfloat16(std::bit_cast<float>(0x3F808000U)).bits == 0x3F80);  // tie to even
  CHECK(to_bfloat16(std::bit_cast<float>(0x3F818000U)).bits == 0x3F82);
  CHECK(to_bfloat16(std::bit_cast<float>(0x3F808001U)).bits == 0x3F81);
  CHECK(to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7F80);  // infinity
  CHECK(to_bfloat16(-0.0F).bits == 0x8000);
  CHECK(std::isnan(to_float(to_bfloat16(std::bit_cast<float>(0x7F800001U)))));
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = to_float(BFloat16{static_cast<std::uint16_t>(bits)});
    if (!std::isnan(value)) REQUIRE(to_bfloat16(value).bits == bits);
  }
}

}  // namespace plab
