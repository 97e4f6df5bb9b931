// SPDX-License-Identifier: Apache-2.0
// The literals are those of PyTorch 1.13 (torch.nn.functional, float64).
#include "plab/nn/loss.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>
#include <string>

#include "data.h"
#include "plab/base/error.h"
#include "plab/nn/gradcheck.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

namespace plab::nn {
namespace {

using testing::close;
using testing::f64;
using testing::leaf;

Tensor logits() {
  const std::vector<double> values{1.5, -0.5, 0.25, 0, 2, -1, 100, -100, 50, -3, -3.5, -2.75};
  Tensor x = Tensor::of<double>(values, {4, 3});
  x.requires_grad_();
  return x;
}
// The last row is ignored.
Tensor labels() { return Tensor::of<std::int64_t>({2, 0, 1, kIgnoreIndex}); }

TEST_CASE("cross entropy and its gradient are PyTorch's, for mean and sum", "[nn][loss]") {
  const Tensor x = logits();
  const Tensor mean = cross_entropy(x, labels());
  CHECK(close(mean, {67.92393262778636}));
  mean.backward();
  CHECK(close(x.grad(), {0.23443799200725796, 0.031727732049724996, -0.266165724056983,
                         -0.2952682668718018, 0.2812649114937798, 0.014003355378022015,
                         0.3333333333333333, -0.3333333333333333, 6.429166159879725e-23, 0, 0, 0}));
  x.set_grad(Tensor());
  const Tensor sum = cross_entropy(x, labels(), Reduction::kSum);
  CHECK(close(sum, {203.77179788335908}));
  sum.backward();
  CHECK(close(x.grad(),
              {0.7033139760217739, 0.09518319614917499, -0.7984971721709491, -0.8858048006154056,
               0.8437947344813395, 0.04201006613406605, 1, -1, 1.9287498479639178e-22, 0, 0, 0}));
}

TEST_CASE("cross entropy without reduction gives a loss for each row", "[nn][loss]") {
  const Tensor x = logits();
  const Tensor each = CrossEntropyLoss(Reduction::kNone)(x, labels());
  CHECK(close(each, {1.6019518638028019, 2.1698460195562856, 200, 0}));
  sum(mul(each, f64({1, 2, -1, 3}))).backward();
  CHECK(close(x.grad(),
              {0.7033139760217739, 0.09518319614917499, -0.7984971721709491, -1.7716096012308111,
               1.687589468962679, 0.0840201322681321, -1, 1, 0, 0, 0, 0}));
}

TEST_CASE("the gradient of cross entropy agrees with differences", "[nn][loss][gradcheck]") {
  const Tensor y = Tensor::of<std::int64_t>({3, 0, 3, 1, kIgnoreIndex});
  for (const auto reduction : {Reduction::kMean, Reduction::kSum, Reduction::kNone}) {
    const auto run = [&](std::span<const Tensor> in) { return cross_entropy(in[0], y, reduction); };
    const Tensor plain[] = {leaf({5, 4}, 1)};
    CHECK(gradcheck(run, plain).empty());
    const auto turned = [&](std::span<const Tensor> in) {
      return cross_entropy(in[0].t() * 2, y, reduction) * 3;
    };
    const Tensor other[] = {leaf({4, 5}, 2)};
    CHECK(gradcheck(turned, other).empty());
  }
}

TEST_CASE("cross entropy works in float32, with int32 labels, and unrecorded", "[nn][loss]") {
  Tensor x = logits().detach().to(DType::kF32);
  CHECK_FALSE(cross_entropy(x, labels()).requires_grad());
  x.requires_grad_();
  const Tensor loss = cross_entropy(x, labels().to(DType::kI32));
  CHECK(loss.dtype() == DType::kF32);
  loss.backward();
  CHECK(std::abs(loss.item<float>() - 67.923935F) < 1e-4F);
  CHECK(std::abs(x.grad().at<float>({0, 2}) + 0.26616573F) < 1e-6F);
}

TEST_CASE("a label that is no class is refused, and its row is named", "[nn][loss]") {
  for (const std::int64_t bad :
       {std::int64_t{3}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    std::string text;
    try {
      static_cast<void>(cross_entropy(logits(), Tensor::of<std::int64_t>({0, 1, bad, 2})));
    } catch (const ContractError& error) {
      text = error.what();
    }
    CHECK(text.find("row 2: label " + std::to_string(bad) + " is outside 0 to 2") !=
          std::string::npos);
  }
}

TEST_CASE("shapes and dtypes that do not fit are refused by cross entropy", "[nn][loss]") {
  const Tensor x = logits();
  CHECK_THROWS_AS(cross_entropy(x, Tensor::of<std::int64_t>({0, 1})), ShapeError);
  CHECK_THROWS_AS(cross_entropy(x[0], labels()), ShapeError);
  CHECK_THROWS_AS(cross_entropy(x, labels().view({4, 1})), ShapeError);
  CHECK_THROWS_AS(cross_entropy(x, f64({0, 1, 2, 0})), DTypeError);
  CHECK_THROWS_AS(cross_entropy(labels().view({4, 1}), labels()), DTypeError);
  CHECK_THROWS_AS(cross_entropy(Tensor::zeros({4, 0}), labels()), ShapeError);
}

TEST_CASE("the mean over no row is not a number, the sum is zero", "[nn][loss]") {
  const Tensor none = Tensor::of<std::int64_t>({kIgnoreIndex, kIgnoreIndex, -100, -100});
  CHECK(std::isnan(cross_entropy(logits(), none).item<double>()));
  CHECK(cross_entropy(logits(), none, Reduction::kSum).item<double>() == 0);
  const Tensor empty = Tensor::zeros({0, 3});
  CHECK(std::isnan(cross_entropy(empty, Tensor::zeros({0}, DType::kI64)).item<double>()));
}

TEST_CASE("mean squared error and its gradient are right", "[nn][loss]") {
  const Tensor a = testing::leaf_of({1, 2, 4});
  const Tensor b = f64({0, 4, 1});
  CHECK(close(mse_loss(a, b, Reduction::kNone), {1, 4, 9}));
  CHECK(close(mse_loss(a, b, Reduction::kSum), {14}));
  const Tensor loss = MSELoss()(a, b);
  CHECK(close(loss, {14.0 / 3}));
  loss.backward();
  CHECK(close(a.grad(), {2.0 / 3, -4.0 / 3, 2}));
  const Tensor both[] = {leaf({2, 3}, 3), leaf({2, 3}, 4)};
  for (const auto reduction : {Reduction::kMean, Reduction::kSum, Reduction::kNone}) {
    CHECK(gradcheck([&](std::span<const Tensor> in) { return mse_loss(in[0], in[1], reduction); },
                    both)
              .empty());
  }
  CHECK_THROWS_AS(mse_loss(a, b.view({3, 1})), ShapeError);
}

}  // namespace
}  // namespace plab::nn
