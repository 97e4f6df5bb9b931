// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/random.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "plab/base/error.h"
#include "plab/tensor/ops.h"

namespace plab {

TEST_CASE("Philox gives the published answers of Random123", "[tensor]") {
  using Block = std::array<std::uint32_t, 4>;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  Generator zero(0);
  CHECK(zero.next_u32() == 0x6627e8d5);
}

TEST_CASE("Streams depend on seed, rank and worker, and repeat", "[tensor]") {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed : {0ULL, 1ULL, 1ULL << 32}) {
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      for (std::uint32_t worker = 0; worker < 3; ++worker) {
        Generator a(seed, rank, worker);
        Generator b(seed, rank, worker);
        const std::uint64_t first = a.next_u64();
        CHECK(first == b.next_u64());
        firsts.insert(first);
      }
    }
  }
  CHECK(firsts.size() == 27);
  Generator g(5);
  static_cast<void>(g.next_normal());
  Generator copy = g;
  CHECK(copy.next_normal() == g.next_normal());
  CHECK(copy.next_u64() == g.next_u64());
}

TEST_CASE("Uniform numbers are even from 0 up to, without, 1", "[tensor]") {
  Generator g(7);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100'000; ++i) {
    const double x = g.next_uniform();
    REQUIRE(x >= 0);
    REQUIRE(x < 1);
    ++counts[static_cast<std::size_t>(x * 10)];
  }
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 500);  // over five sigma
}

TEST_CASE("Normal numbers have mean 0, variance 1 and the tails of a normal", "[tensor]") {
  Generator g(8);
  double sum = 0;
  double square = 0;
  int outside = 0;
  constexpr int kCount = 200'000;
  for (int i = 0; i < kCount; ++i) {
    const double x = g.next_normal();
    sum += x;
    square += x * x;
    if (std::fabs(x) > 2) ++outside;
  }
  CHECK(std::fabs(sum / kCount) < 0.012);
  CHECK(std::fabs(square / kCount - 1) < 0.02);
  CHECK(std::fabs(outside / double{kCount} - 0.0455) < 0.003);
}

TEST_CASE("next_below is even and inside its bound", "[tensor]") {
  Generator g(9);
  CHECK(g.next_below(0) == 0);
  CHECK(g.next_below(1) == 0);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts[g.next_below(7)];
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 600);
  for (int i = 0; i < 1000; ++i) CHECK(g.next_below((1ULL << 63) + 1) <= 1ULL << 63);
}

TEST_CASE("Random tensors repeat with the generator and stay in their range", "[tensor]") {
  Generator a(10);
  Generator b(10);
  CHECK(equal(Tensor::randn({3, 4}, a), Tensor::randn({3, 4}, b)));
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const Tensor t = Tensor::rand({4000}, a, dtype).to(DType::kF64);
    CHECK(min(t).item<double>() >= 0);
    CHECK(max(t).item<double>() < 1);
    CHECK(std::fabs(mean(t).item<double>() - 0.5) < 0.03);
  }
  const Tensor whole = Tensor::randint(-2, 3, {2000}, a);
  CHECK(min(whole).item<int>() == -2);
  CHECK(max(whole).item<int>() == 2);
  CHECK(Tensor::randint(INT64_MIN, INT64_MAX, {3}, a).numel() == 3);
  CHECK(Tensor::randint(0, 2, {100}, a, DType::kF32).dtype() == DType::kF32);
  CHECK_THROWS_AS(Tensor::randint(3, 3, {1}, a), ContractError);
  CHECK_THROWS_AS(Tensor::rand({1}, a, DType::kI64), DTypeError);
  CHECK_THROWS_AS(Tensor::randn({1}, a, DType::kBool), DTypeError);
}

TEST_CASE("In-place random fills do not depend on the strides", "[tensor]") {
  Generator a(11);
  Generator b(11);
  const Tensor dense = Tensor::empty({3, 4});
  const Tensor strided = Tensor::empty({4, 3}).t();
  dense.uniform_(-2, 5, a);
  strided.uniform_(-2, 5, b);
  CHECK(equal(dense, strided));
  dense.normal_(100, 2, a);
  strided.normal_(100, 2, b);
  CHECK(equal(dense, strided));
  CHECK(std::fabs(mean(dense).item<double>() - 100) < 4);
  CHECK_THROWS_AS(dense.uniform_(1, 0, a), ContractError);
  CHECK_THROWS_AS(dense.normal_(0, -1, a), ContractError);
  CHECK_THROWS_AS(Tensor::arange(3).uniform_(0, 1, a), DTypeError);
}

TEST_CASE("randperm gives every order equally often", "[tensor]") {
  Generator g(12);
  std::array<int, 27> counts{};
  for (int i = 0; i < 6000; ++i) {
    const auto p = Tensor::randperm(3, g).to_vector<std::int64_t>();
    ++counts[static_cast<std::size_t>(p[0] * 9 + p[1] * 3 + p[2])];
  }
  int orders = 0;
  for (const int count : counts) {
    if (count == 0) continue;
    ++orders;
    CHECK(std::abs(count - 1000) < 180);
  }
  CHECK(orders == 6);
  auto big = Tensor::randperm(1000, g).to_vector<std::int64_t>();
  CHECK_FALSE(std::ranges::is_sorted(big));
  std::ranges::sort(big);
  CHECK(big == Tensor::arange(1000).to_vector<std::int64_t>());
  CHECK(Tensor::randperm(0, g).numel() == 0);
  CHECK_THROWS_AS(Tensor::randperm(-1, g), ShapeError);
}

}  // namespace plab
