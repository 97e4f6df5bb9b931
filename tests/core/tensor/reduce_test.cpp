// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "plab/base/error.h"
#include "reference.h"

namespace plab {

using Catch::Matchers::ContainsSubstring;
using test::Index;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Tensor& sample() {
  static const Tensor a = Tensor::of<float>(
      std::vector<float>{1.5F, -2, 0.25F, 3, 0, -0.5F, 7, -1.25F, 2, 4, -8, 0.125F}, {3, 4});
  return a;
}

bool close_to(const Tensor& a, std::vector<float> expected) {
  return allclose(a.flatten(), Tensor::of<float>(expected, {a.numel()}), 1e-6, 1e-7);
}

}  // namespace

TEST_CASE("Reductions over one dimension agree with plain loops", "[tensor]") {
  Generator g(41);
  for (int round = 0; round < 800; ++round) {
    const Shape shape = test::random_shape(g);
    if (shape.dims() == 0) continue;
    const bool floats = round % 2 == 0;
    const Tensor a = test::random_view(g, shape, floats ? DType::kF32 : DType::kI32);
    const auto d =
        static_cast<std::size_t>(test::below(g, static_cast<std::int64_t>(shape.dims())));
    const std::int64_t dim = static_cast<std::int64_t>(d) -
                             (test::below(g, 2) == 0 ? static_cast<std::int64_t>(shape.dims()) : 0);
    const Tensor kept = sum(a, dim, true);
    REQUIRE(kept.dtype() == (floats ? DType::kF32 : DType::kI64));
    REQUIRE(equal(kept.squeeze(dim), sum(a, dim)));
    test::for_each_index(kept.sizes(), [&](Index i) {
      double total = 0;
      double best = -1e30;
      std::int64_t place = 0;
      for (std::int64_t k = 0; k < shape[d]; ++k) {
        Index at = i;
        at[d] = k;
        const double x = floats ? test::pick<float>(a, at) : test::pick<std::int32_t>(a, at);
        total += x;
        if (x > best) {
          best = x;
          place = k;
        }
      }
      const double found = test::pick<double>(kept.to(DType::kF64), i);
      REQUIRE(std::fabs(found - total) <= 1e-5);
      if (shape[d] > 0) {
        REQUIRE(test::pick<std::int64_t>(argmax(a, dim, true), i) == place);
      }
    });
    if (floats) {
      REQUIRE(std::fabs(sum(a).item<double>() - sum(a.to(DType::kF64)).item<double>()) < 1e-4);
    }
  }
}

TEST_CASE("Sums, means and picks have PyTorch's values and dtypes", "[tensor]") {
  const Tensor& a = sample();
  CHECK(close_to(mean(a, 1), {0x1.6p-1F, 0x1.5p+0F, -0x1.ep-2F}));
  CHECK(close_to(mean(a), {0x1.055556p-1F}));
  CHECK(sum(Tensor::of<bool>({true, true})).item<int>() == 2);
  CHECK(sum(Tensor::ones({300}, DType::kU8)).item<int>() == 300);
  CHECK(sum(Tensor::of<std::int32_t>({INT32_MAX, 1})).item<std::int64_t>() == 1LL << 31);
  CHECK(sum(Tensor::scalar(5), 0).item<float>() == 5);
  CHECK(sum(Tensor::scalar(5), -1, true).dim() == 0);
  CHECK(max(a).item<float>() == 7);
  CHECK(min(a).item<float>() == -8);
  CHECK(max(Tensor::of<std::int64_t>({3, 9, -2})).dtype() == DType::kI64);
  CHECK(argmax(a, 1).to_vector<std::int64_t>() == Index{3, 2, 1});
  CHECK(argmax(a, 0, true).sizes() == Shape{1, 4});
  CHECK(argmax(Tensor::of<float>({2, 5, 5}), 0).item<int>() == 1);
  CHECK(argmax(Tensor::scalar(5, DType::kI64), 0).item<int>() == 0);
}

TEST_CASE("NaN wins every pick", "[tensor]") {
  const Tensor t = Tensor::of<float>({1, kNan, 3, kNan});
  CHECK(std::isnan(max(t).item<float>()));
  CHECK(std::isnan(min(t).item<float>()));
  CHECK(argmax(t, 0).item<int>() == 1);
}

TEST_CASE("Reductions of nothing are zero, NaN or refused, as in PyTorch", "[tensor]") {
  CHECK(sum(Tensor::empty({0})).item<float>() == 0);
  CHECK(sum(Tensor::empty({2, 0}), 1).to_vector<float>() == std::vector<float>{0, 0});
  CHECK(sum(Tensor::empty({0, 2}), 0).to_vector<float>() == std::vector<float>{0, 0});
  CHECK(std::isnan(mean(Tensor::empty({0})).item<float>()));
  CHECK(std::isnan(mean(Tensor::empty({0, 2}), 0).to_vector<float>()[1]));
  CHECK_THROWS_AS(max(Tensor::empty({0})), ShapeError);
  CHECK_THROWS_AS(argmax(Tensor::empty({2, 0}), 1), ShapeError);
  CHECK(argmax(Tensor::empty({0, 2}), 1).sizes() == Shape{0});
}

TEST_CASE("Reductions refuse wrong dimensions and dtypes", "[tensor]") {
  CHECK_THROWS_WITH(mean(Tensor::arange(3)), ContainsSubstring("int64 [3]"));
  CHECK_THROWS_AS(mean(Tensor::of<bool>({true}), 0), DTypeError);
  CHECK_THROWS_WITH(sum(sample(), 2), ContainsSubstring("valid are -2 to 1"));
  CHECK_THROWS_AS(argmax(sample(), -3), ShapeError);
  CHECK_THROWS_AS(sum(sample().to(DType::kF16)), DTypeError);
  CHECK_THROWS_AS(softmax(Tensor::arange(3), 0), DTypeError);
}

TEST_CASE("A long sum keeps its digits", "[tensor]") {
  // one million times 0.1 in float32: adding one by one gives 100958
  const Tensor t = Tensor::full({1'000'000}, 0.1);
  CHECK(std::fabs(sum(t).item<double>() - 100000) < 0.01);
  CHECK(std::fabs(sum(t.view({1'000'000, 1}).expand({-1, 3}), 0).to_vector<double>()[1] - 100000) <
        0.1);
}

TEST_CASE("softmax and log_softmax have PyTorch's values", "[tensor]") {
  const Tensor& a = sample();
  CHECK(close_to(log_softmax(a, 1),
                 {-0x1.c1f0ccp+0F, -0x1.507c32p+2F, -0x1.80f866p+1F, -0x1.07c32ep-2F,
                  -0x1.c01c42p+2F, -0x1.e01c42p+2F, -0x1.c42422p-10F, -0x1.080e22p+3F,
                  -0x1.1290f4p+1F, -0x1.290f4ap-3F, -0x1.84a43ep+3F, -0x1.01487ap+2F}));
  CHECK(close_to(log_softmax(a, 0),
                 {-0x1.0e11a8p+0F, -0x1.80dd2p+2F, -0x1.b0132ep+2F, -0x1.17bbc8p-4F,
                  -0x1.4708d4p+1F, -0x1.20dd2p+2F, -0x1.32da02p-10F, -0x1.145efp+2F,
                  -0x1.1c234ep-1F, -0x1.ba3e92p-7F, -0x1.e00996p+3F, -0x1.78bddep+1F}));
  CHECK(close_to(softmax(a, -1), {0x1.613392p-3F, 0x1.554de6p-8F, 0x1.94c68ep-5F, 0x1.8bbc18p-1F,
                                  0x1.dd43dp-11F, 0x1.2179ccp-11F, 0x1.ff1e2p-1F, 0x1.117a34p-12F,
                                  0x1.df7ccp-4F, 0x1.badeaep-1F, 0x1.64a882p-18F, 0x1.262086p-6F}));
  CHECK(log_softmax(Tensor::of<float>({1000, 0, -1000}), 0).to_vector<float>() ==
        std::vector<float>{0, -1000, -2000});
  CHECK(softmax(Tensor::scalar(5), 0).item<float>() == 1);
  CHECK(log_softmax(Tensor::empty({0, 3}), 1).sizes() == Shape{0, 3});
  CHECK(log_softmax(Tensor::empty({3, 0}), 1).sizes() == Shape{3, 0});
}

TEST_CASE("Infinite inputs of softmax give PyTorch's values", "[tensor]") {
  const auto all = log_softmax(Tensor::of<float>({-kInf, -kInf}), 0).to_vector<float>();
  CHECK(std::isnan(all[0]));
  const auto one = log_softmax(Tensor::of<float>({-kInf, 1}), 0).to_vector<float>();
  CHECK(one == std::vector<float>{-kInf, 0});
  CHECK(std::isnan(softmax(Tensor::of<float>({kInf, 1}), 0).to_vector<float>()[0]));
}

TEST_CASE("softmax along any dimension of any layout sums to one", "[tensor]") {
  Generator g(42);
  for (int round = 0; round < 200; ++round) {
    const Shape shape = test::random_shape(g);
    if (shape.dims() == 0 || shape.numel() == 0) continue;
    const Tensor a = test::random_view(g, shape, DType::kF64);
    const std::int64_t dim = test::below(g, static_cast<std::int64_t>(shape.dims()));
    const Tensor s = softmax(a, dim);
    REQUIRE(s.sizes() == shape);
    REQUIRE(allclose(sum(s, dim), Tensor::ones(sum(s, dim).sizes(), DType::kF64)));
    REQUIRE(allclose(ln(s), log_softmax(a, dim)));
  }
}

}  // namespace plab
