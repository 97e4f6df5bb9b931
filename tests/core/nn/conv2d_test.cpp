// SPDX-License-Identifier: Apache-2.0
// The literals are those of PyTorch 1.13 (torch.nn.functional.conv2d, float64).
#include "plab/nn/conv2d.h"

#include <catch2/catch_test_macros.hpp>

#include "data.h"
#include "plab/base/error.h"
#include "plab/nn/gradcheck.h"
#include "plab/tensor/ops.h"

namespace plab::nn {
namespace {

using testing::close;
using testing::leaf;

// ((a i + b) mod m - c) / d for i = 0, 1, ...
struct Row {
  std::int64_t a, b, m, c;
  double d;
};
Tensor numbers(const Shape& shape, const Row& row) {
  Tensor tensor = Tensor::empty(shape, DType::kF64);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<double>()[i] = static_cast<double>((row.a * i + row.b) % row.m - row.c) / row.d;
  }
  return tensor;
}
constexpr Row kData{37, 11, 19, 9, 8};
constexpr Row kHalf{37, 11, 19, 9, 16};
constexpr Row kWeights{13, 5, 7, 3, 4};

double total(const Tensor& t) { return sum(t).item<double>(); }
double squares(const Tensor& t) { return sum(mul(t, t)).item<double>(); }
Tensor head(const Tensor& t, std::int64_t n) { return t.detach().flatten().narrow(0, 0, n); }

TEST_CASE("a convolution with stride, padding, dilation and groups is PyTorch's", "[nn][conv2d]") {
  const Tensor x = numbers({2, 4, 5, 6}, kData);
  const Tensor w = numbers({6, 2, 3, 2}, kHalf);
  const Tensor b = numbers({6}, kData);
  for (const Tensor& t : {x, w, b}) t.requires_grad_();
  const Tensor y = conv2d(x, w, b, {{2, 1}, {1, 2}, {1, 2}, 2});
  REQUIRE(y.sizes() == Shape{2, 6, 3, 8});
  CHECK(close(head(y, 8), {0.5390625, -0.34375, 0.046875, -0.5625, -0.28125, 0, 0.09375, 0.21875}));
  CHECK(close({total(y), squares(y)}, {-17.7890625, 122.66693115234375}));
  sum(mul(y, numbers(y.sizes(), kWeights))).backward();
  CHECK(close(head(x.grad(), 6), {-0.8125, -0.0625, -0.078125, 0.5625, 0.546875, -0.015625}));
  CHECK(close({total(x.grad()), squares(x.grad())}, {1.953125, 74.761474609375}));
  CHECK(close(head(w.grad(), 6), {-0.46875, 0.5, -1.875, -1, 1.65625, 0.65625}));
  CHECK(close({total(w.grad()), squares(w.grad())}, {4.15625, 287.1689453125}));
  CHECK(close(b.grad(), {0.25, -0.75, 0, 0.75, -0.25, 0.5}));
}

TEST_CASE("a plain convolution is PyTorch's", "[nn][conv2d]") {
  const Tensor x = numbers({1, 1, 4, 4}, kData);
  const Tensor w = numbers({1, 1, 2, 2}, kHalf);
  const Tensor y = conv2d(x, w, numbers({1}, kData), {});
  CHECK(close(head(y, 8),
              {0.3125, 0.296875, 0.28125, 0.25, 0.234375, 0.21875, 0.0390625, 0.0234375}));
  CHECK_FALSE(y.requires_grad());
}

TEST_CASE("the gradient of a convolution agrees with differences", "[nn][conv2d][gradcheck]") {
  const auto run = [](const ConvGeometry& geometry) {
    return [geometry](std::span<const Tensor> in) {
      return conv2d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), geometry);
    };
  };
  const Tensor grouped[] = {leaf({2, 4, 5, 3}, 1), leaf({2, 2, 2, 3}, 2), leaf({2}, 3)};
  CHECK(gradcheck(run({{2, 1}, {1, 2}, {1, 1}, 2}), grouped).empty());
  const Tensor dilated[] = {leaf({1, 2, 5, 6}, 4), leaf({3, 2, 2, 2}, 5)};
  CHECK(gradcheck(run({{1, 3}, {0, 1}, {3, 2}, 1}), dilated).empty());
  const Tensor one[] = {leaf({3, 1, 1, 1}, 6), leaf({1, 1, 1, 1}, 7), leaf({1}, 8)};
  CHECK(gradcheck(run({}), one).empty());
  // Views as operands and a gradient that is not row-major.
  const Tensor views[] = {leaf({4, 5, 2, 1}, 9), leaf({2, 2, 2, 3}, 10)};
  CHECK(gradcheck(
            [](std::span<const Tensor> in) {
              return conv2d(in[0].permute({3, 2, 1, 0}), in[1].transpose(2, 3), Tensor(), {})
                  .transpose(1, 3);
            },
            views)
            .empty());
}

TEST_CASE("operands of a convolution that do not fit are refused", "[nn][conv2d]") {
  const Tensor x = Tensor::zeros({1, 4, 5, 5});
  const Tensor w = Tensor::zeros({2, 4, 3, 3});
  CHECK_THROWS_AS(conv2d(x[0], w, Tensor(), {}), ShapeError);
  CHECK_THROWS_AS(conv2d(x, Tensor::zeros({2, 3, 3, 3}), Tensor(), {}), ShapeError);
  CHECK_THROWS_AS(conv2d(x, w, Tensor::zeros({3}), {}), ShapeError);
  CHECK_THROWS_AS(conv2d(x, Tensor::zeros({3, 2, 3, 3}), Tensor(), {.groups = 2}), ShapeError);
  CHECK_THROWS_AS(conv2d(x, Tensor::zeros({2, 4, 6, 3}), Tensor(), {}), ShapeError);
  CHECK_THROWS_AS(conv2d(x, w, Tensor(), {.dilation = {3, 1}}), ShapeError);
  CHECK_THROWS_AS(conv2d(x, w, Tensor(), {.stride = {0, 1}}), ContractError);
  CHECK_THROWS_AS(conv2d(x, w, Tensor(), {.padding = {-1, 0}}), ContractError);
  CHECK_THROWS_AS(conv2d(x, w, Tensor(), {.groups = 0}), ContractError);
  CHECK_THROWS_AS(conv2d(x, w.to(DType::kF64), Tensor(), {}), DTypeError);
  CHECK_THROWS_AS(conv2d(x.to(DType::kI64), w.to(DType::kI64), Tensor(), {}), DTypeError);
}

TEST_CASE("a convolution of no sample is empty", "[nn][conv2d]") {
  const Tensor y = conv2d(Tensor::zeros({0, 1, 3, 3}), Tensor::zeros({2, 1, 2, 2}), Tensor(), {});
  CHECK(y.sizes() == Shape{0, 2, 2, 2});
}

}  // namespace
}  // namespace plab::nn
