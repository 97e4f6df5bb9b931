// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/kernels.h"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "plab/tensor/random.h"

namespace plab {

namespace {

template <typename T>
std::vector<T> random_numbers(Generator& g, std::size_t n) {
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(g.next_normal());
  return out;
}

template <typename T>
bool near(T a, T b, double tolerance = 1e-5) {
  return std::fabs(static_cast<double>(a - b)) <=
         tolerance * (1 + std::fabs(static_cast<double>(b)));
}

}  // namespace

TEMPLATE_TEST_CASE("Element-wise kernels agree with plain loops at any length", "[tensor]", float,
                   double) {
  using T = TestType;
  Generator g(81);
  for (std::size_t n = 0; n < 70; ++n) {
    const auto a = random_numbers<T>(g, n);
    const auto b = random_numbers<T>(g, n);
    std::vector<T> out(n);
    kernels::add(a.data(), b.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(out[i] == a[i] + b[i]);
    kernels::sub(a.data(), b.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(out[i] == a[i] - b[i]);
    kernels::mul(a.data(), b.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(out[i] == a[i] * b[i]);
    auto y = b;
    kernels::axpy(T{0.5}, a.data(), y.data(), n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(near(y[i], b[i] + T{0.5} * a[i]));
    kernels::scale(T{2}, y.data(), n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(near(y[i], 2 * b[i] + a[i]));
    kernels::relu(a.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(out[i] == std::max(a[i], T{0}));
    kernels::relu_backward(b.data(), out.data(), y.data(), n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(y[i] == (out[i] > 0 ? b[i] : 0));
    kernels::tanh_backward(b.data(), a.data(), y.data(), n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(near(y[i], b[i] * (1 - a[i] * a[i])));
    double total = 0;
    for (const T x : a) total += static_cast<double>(x);
    REQUIRE(near(kernels::sum(a.data(), n), total));
  }
}

TEMPLATE_TEST_CASE("Row kernels agree with plain loops", "[tensor]", float, double) {
  using T = TestType;
  Generator g(82);
  for (const std::size_t rows : {0, 1, 3, 64, 65, 200}) {
    for (const std::size_t columns : {1, 2, 10, 255, 256, 257, 600}) {
      const auto a = random_numbers<T>(g, rows * columns);
      const auto bias = random_numbers<T>(g, columns);
      std::vector<T> out(rows * columns);
      kernels::fill_rows(bias.data(), out.data(), rows, columns);
      for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(out[i] == bias[i % columns]);
      out = a;
      kernels::add_bias(bias.data(), out.data(), rows, columns);
      for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(out[i] == a[i] + bias[i % columns]);
      std::vector<T> sums(columns);
      kernels::sum_rows(a.data(), sums.data(), rows, columns);
      for (std::size_t j = 0; j < columns; ++j) {
        double total = 0;
        for (std::size_t i = 0; i < rows; ++i) total += static_cast<double>(a[i * columns + j]);
        REQUIRE(near(static_cast<double>(sums[j]), total, 1e-4));
      }
    }
  }
}

TEST_CASE("The gradient of log_softmax agrees with finite differences", "[tensor]") {
  Generator g(83);
  const auto x = random_numbers<double>(g, 6);
  const auto gradient = random_numbers<double>(g, 6);
  std::vector<double> y(6);
  std::vector<double> dx(6);
  kernels::log_softmax(x.data(), y.data(), 2, 3);
  kernels::log_softmax_backward(gradient.data(), y.data(), dx.data(), 2, 3);
  for (std::size_t i = 0; i < 6; ++i) {
    double slope = 0;
    for (const double step : {1e-6, -1e-6}) {
      auto moved = x;
      moved[i] += step;
      std::vector<double> out(6);
      kernels::log_softmax(moved.data(), out.data(), 2, 3);
      for (std::size_t k = 0; k < 6; ++k) slope += out[k] * gradient[k] / (2 * step);
    }
    CHECK(near(dx[i], slope, 1e-6));
  }
}

TEST_CASE("gemm scales and adds to what is there", "[tensor]") {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};   // [2, 3]
  const std::vector<float> b{1, 0, 2, 1, 0, 3};   // [3, 2]
  const std::vector<float> bt{1, 2, 0, 0, 1, 3};  // the same, transposed
  std::vector<float> c{10, 10, 10, 10};
  using kernels::Transpose;
  kernels::gemm<float>({2, 2, 3}, 2, {a.data(), 3, Transpose::kNo}, {b.data(), 2, Transpose::kNo},
                       0.5F, c.data(), 2);
  CHECK(c == std::vector<float>{15, 27, 33, 51});
  kernels::gemm<float>({2, 2, 3}, 1, {a.data(), 3, Transpose::kNo}, {bt.data(), 3, Transpose::kYes},
                       0, c.data(), 2);
  CHECK(c == std::vector<float>{5, 11, 14, 23});
}

TEST_CASE("sgd follows torch.optim.SGD with every option", "[tensor]") {
  // torch.optim.SGD(lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True): three steps with the
  // gradients 0.5, -1, 2 on a parameter of 1
  float p = 1;
  float v = 0;
  const std::vector<float> gradients{0.5F, -1, 2};
  std::vector<float> path;
  for (std::size_t i = 0; i < 3; ++i) {
    kernels::sgd<float>({0.1F, 0.9F, 0, 0.01F, true, i == 0}, &p, &gradients[i], &v, 1);
    path.push_back(p);
  }
  CHECK(near(path[0], 0.9031000137329102F));
  CHECK(near(path[1], 1.0500741004943848F));
  CHECK(near(path[2], 0.7111684679985046F));
  float q = 1;
  kernels::sgd<float>({0.1F, 0, 0, 0.01F, false, true}, &q, gradients.data(), nullptr, 1);
  CHECK(near(q, 0.949F));
  // momentum=0.9, dampening=0.3
  float r = 1;
  path.clear();
  for (std::size_t i = 0; i < 3; ++i) {
    kernels::sgd<float>({0.1F, 0.9F, 0.3F, 0, false, i == 0}, &r, &gradients[i], &v, 1);
    path.push_back(r);
  }
  CHECK(near(path[0], 0.949999988079071F));
  CHECK(near(path[1], 0.9749999642372131F));
  CHECK(near(path[2], 0.8574999570846558F));
}

TEST_CASE("adam follows torch.optim.Adam", "[tensor]") {
  // torch.optim.Adam(lr=0.1, weight_decay=0.01): three steps with the gradients 0.5, -1, 2
  float p = 1;
  float m = 0;
  float s = 0;
  const std::vector<float> gradients{0.5F, -1, 2};
  std::vector<float> path;
  for (int i = 0; i < 3; ++i) {
    const float c1 = 1 - std::pow(0.9F, static_cast<float>(i + 1));
    const float c2 = 1 - std::pow(0.999F, static_cast<float>(i + 1));
    kernels::adam<float>({0.1F, 0.9F, 0.999F, 1e-8F, 0.01F, c1, c2}, &p,
                         &gradients[static_cast<std::size_t>(i)], {&m, &s}, 1);
    path.push_back(p);
  }
  CHECK(near(path[0], 0.9000000357627869F, 1e-6));
  CHECK(near(path[1], 0.9355236887931824F, 1e-6));
  CHECK(near(path[2], 0.8929657340049744F, 1e-6));
}

}  // namespace plab
