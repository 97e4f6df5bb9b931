// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/layers.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

#include "data.h"
#include "plab/base/error.h"
#include "plab/nn/gradcheck.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

namespace plab::nn {
namespace {

using testing::leaf;

double greatest(const Tensor& t) { return max(abs(t.detach())).to(DType::kF64).item<double>(); }

TEST_CASE("Linear starts uniform within 1/sqrt(in) and repeats with the seed", "[nn][layers]") {
  Generator first(7);
  Generator second(7);
  const Linear a(100, 50, first);
  const Linear b(100, 50, second);
  CHECK(equal(a.weight().detach(), b.weight().detach()));
  CHECK(equal(a.bias().detach(), b.bias().detach()));
  CHECK(greatest(a.weight()) <= 0.1);
  CHECK(greatest(a.weight()) > 0.099);  // of 5,000 draws one comes this near
  CHECK(greatest(a.bias()) <= 0.1);
  CHECK(a.weight().sizes() == Shape{50, 100});
  CHECK(a.weight().requires_grad());
  CHECK(a.bias().requires_grad());
}

TEST_CASE("Linear computes x W^T + b", "[nn][layers]") {
  Generator generator(1);
  Linear layer(2, 3, generator);
  {
    const NoGrad no_grad;
    layer.weight().copy_(Tensor::of<float>(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2}));
    layer.bias().copy_(Tensor::of<float>({0.5F, 0, -1}));
  }
  const Tensor y = layer(Tensor::of<float>(std::vector<float>{1, 10}, {1, 2}));
  CHECK(y.to_vector<double>() == std::vector<double>{21.5, 43, 64});
  CHECK_THROWS_AS(layer(Tensor::zeros({1, 3})), ShapeError);
}

TEST_CASE("layers without bias have one parameter", "[nn][layers]") {
  Generator generator(1);
  CHECK(Linear(2, 3, generator, Bias::kNo).parameters().size() == 1);
  CHECK(Conv2d(2, 4, {3, 3}, generator, {.bias = Bias::kNo}).parameters().size() == 1);
}

TEST_CASE("sizes that are no sizes are refused", "[nn][layers]") {
  Generator generator(1);
  CHECK_THROWS_AS(Linear(0, 3, generator), ContractError);
  CHECK_THROWS_AS(Linear(3, -1, generator), ContractError);
  CHECK_THROWS_AS(Linear(3, 1, generator, Bias::kYes, DType::kI64), DTypeError);
  CHECK_THROWS_AS(Linear(3, 1, generator, Bias::kYes, DType::kF16), DTypeError);
  CHECK_THROWS_AS(Conv2d(2, 3, {0, 1}, generator), ContractError);
  CHECK_THROWS_AS(Conv2d(4, 6, {1, 1}, generator, {.groups = 3}), ContractError);
  CHECK_THROWS_AS(Conv2d(4, 6, {1, 1}, generator, {.padding = {0, -1}}), ContractError);
  CHECK_THROWS_AS(Dropout(1.5, generator), ContractError);
  CHECK_THROWS_AS(Dropout(std::nan(""), generator), ContractError);
}

TEST_CASE("Conv2d starts within 1/sqrt(fan in) and gives the shape of its options",
          "[nn][layers]") {
  Generator generator(3);
  Conv2d layer(4, 8, {5, 5}, generator, {.stride = {2, 2}, .padding = {2, 2}, .groups = 2});
  CHECK(layer.weight().sizes() == Shape{8, 2, 5, 5});
  const double bound = 1 / std::sqrt(50.0);
  CHECK(greatest(layer.weight()) <= bound);
  CHECK(greatest(layer.weight()) > 0.95 * bound);
  CHECK(layer(Tensor::zeros({3, 4, 9, 8})).sizes() == Shape{3, 8, 5, 4});
}

TEST_CASE("the gradients of a small convolutional network agree with differences",
          "[nn][layers][gradcheck]") {
  Generator generator(4);
  Sequential net(Conv2d(1, 2, {3, 2}, generator, {.dtype = DType::kF64}), Tanh(), Flatten(),
                 Linear(2 * 2 * 3, 3, generator, Bias::kYes, DType::kF64));
  std::vector<Tensor> inputs{leaf({2, 1, 4, 4}, 5)};
  for (const Tensor& p : net.parameters()) inputs.push_back(p);
  CHECK(inputs.size() == 5);
  CHECK(gradcheck([&](std::span<const Tensor> in) { return net(in[0]); }, inputs).empty());
}

TEST_CASE("Dropout zeroes a share p, scales the rest, and passes in evaluation", "[nn][layers]") {
  Dropout layer(0.25, Generator(9));
  const Tensor x = Tensor::ones({100, 100});
  const auto dropped = layer(x).to_vector<double>();
  const auto zeros = std::count(dropped.begin(), dropped.end(), 0.0);
  const float kept = static_cast<float>(1 / 0.75);
  CHECK(std::count(dropped.begin(), dropped.end(), static_cast<double>(kept)) + zeros == 10'000);
  CHECK((zeros > 2'200 && zeros < 2'800));               // 2,500 +- 7 standard deviations
  CHECK_FALSE(layer(x).to_vector<double>() == dropped);  // another mask each time
  layer.eval();
  CHECK(equal(layer(x), x));
}

TEST_CASE("the gradient of Dropout passes where the element did", "[nn][layers]") {
  Dropout layer(0.5, Generator(10));
  const Tensor x = leaf({50}, 11, 1, 2);
  const Tensor y = layer(x);
  sum(y).backward();
  const auto out = y.to_vector<double>();
  const auto grad = x.grad().to_vector<double>();
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(grad[i] == (out[i] == 0 ? 0 : 2));
  Dropout all(1, Generator(10));
  CHECK(sum(all(x)).item<double>() == 0);
}

TEST_CASE("Dropouts of one generator state repeat, of another rank they do not", "[nn][layers]") {
  const Tensor x = Tensor::ones({64});
  CHECK(equal(Dropout(0.5, Generator(1, 3))(x), Dropout(0.5, Generator(1, 3))(x)));
  CHECK_FALSE(equal(Dropout(0.5, Generator(1, 3))(x), Dropout(0.5, Generator(1, 4))(x)));
}

TEST_CASE("Flatten keeps the dimensions before its start", "[nn][layers]") {
  CHECK(Flatten()(Tensor::zeros({2, 3, 4})).sizes() == Shape{2, 12});
  CHECK(Flatten(2)(Tensor::zeros({2, 3, 4, 5})).sizes() == Shape{2, 3, 20});
}

TEST_CASE("Sequential runs its modules in order and gives them out by number", "[nn][layers]") {
  Generator generator(1);
  Sequential net(ReLU(), Linear(2, 3, generator), Tanh());
  CHECK(net.size() == 3);
  CHECK(net[1].describe() == "Linear(in_features=2, out_features=3, bias=True)");
  CHECK_THROWS_AS(net[3], ContractError);
  Sequential empty;
  const Tensor x = Tensor::ones({2});
  CHECK(empty(x).is_same(x));
  CHECK_THROWS_AS(empty.push_back(nullptr), ContractError);
}

}  // namespace
}  // namespace plab::nn
