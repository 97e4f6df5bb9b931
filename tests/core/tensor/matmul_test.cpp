// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

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

template <typename T>
Tensor plain_product(const Tensor& a, const Tensor& b) {
  Tensor out = Tensor::zeros({a.size(0), b.size(1)}, a.dtype());
  test::for_each_index(out.sizes(), [&](const Index& i) {
    T total = 0;
    for (std::int64_t k = 0; k < a.size(1); ++k) {
      total += test::pick<T>(a, {i[0], k}) * test::pick<T>(b, {k, i[1]});
    }
    out.data<T>()[i[0] * b.size(1) + i[1]] = total;
  });
  return out;
}

}  // namespace

TEST_CASE("Products of any layout agree with plain loops", "[tensor]") {
  Generator g(51);
  for (int round = 0; round < 600; ++round) {
    const std::int64_t m = test::below(g, 7);
    const std::int64_t k = test::below(g, 7);
    const std::int64_t n = test::below(g, 7);
    const Tensor a = test::random_view(g, {m, k}, DType::kF32);
    const Tensor b = test::random_view(g, {k, n}, DType::kF32);
    REQUIRE(allclose(matmul(a, b), plain_product<float>(a, b), 1e-4, 1e-5));
    REQUIRE(allclose(matmul(b.t(), a.t()), plain_product<float>(a, b).t(), 1e-4, 1e-5));
    const Tensor c = test::random_view(g, {k, n}, DType::kF64);
    REQUIRE(allclose(matmul(a.to(DType::kF64).t().contiguous().t(), c),
                     plain_product<double>(a.to(DType::kF64), c)));
    const Tensor x = test::random_view(g, {m, k}, DType::kI32);
    const Tensor y = test::random_view(g, {k, n}, DType::kI32);
    REQUIRE(equal(matmul(x, y), plain_product<std::int32_t>(x, y)));
    REQUIRE(allclose(matmul(a, b.expand({k, n}).narrow(1, 0, n)), matmul(a, b)));
  }
}

TEST_CASE("Vectors multiply as rows or columns", "[tensor]") {
  const Tensor v = Tensor::of<float>({1, 2, 3});
  const Tensor m = Tensor::arange(12, DType::kF32).view({3, 4});
  CHECK(matmul(v, v).item<float>() == 14);
  CHECK(matmul(v, v).dim() == 0);
  CHECK(matmul(v, m).to_vector<float>() == std::vector<float>{32, 38, 44, 50});
  CHECK(matmul(m.t(), v).to_vector<float>() == std::vector<float>{32, 38, 44, 50});
  CHECK(matmul(Tensor::of<std::int64_t>({1, 2}), Tensor::of<std::int64_t>({3, 4})).item<int>() ==
        11);
  CHECK(matmul(v.slice(0, 0, 3, 2), v.slice(0, 0, 3, 2)).item<float>() == 10);
  CHECK(matmul(v.view({3, 1}).expand({3, 5}).t(), v).to_vector<float>() ==
        std::vector<float>{14, 14, 14, 14, 14});
}

TEST_CASE("A product over nothing is zero", "[tensor]") {
  CHECK(matmul(Tensor::empty({2, 0}), Tensor::empty({0, 3})).to_vector<float>() ==
        std::vector<float>(6, 0));
  CHECK(matmul(Tensor::empty({0, 2}), Tensor::ones({2, 3})).sizes() == Shape{0, 3});
  CHECK(matmul(Tensor::empty({0}), Tensor::empty({0})).item<float>() == 0);
  CHECK(linear(Tensor::empty({2, 0}), Tensor::empty({3, 0}), Tensor::of<float>({1, 2, 3}))
            .to_vector<float>() == std::vector<float>{1, 2, 3, 1, 2, 3});
}

TEST_CASE("linear is a product with the transposed weight plus bias", "[tensor]") {
  const Tensor a = Tensor::of<float>(
      std::vector<float>{1.5F, -2, 0.25F, 3, 0, -0.5F, 7, -1.25F, 2, 4, -8, 0.125F}, {3, 4});
  const Tensor b = Tensor::of<float>(
      std::vector<float>{0.5F, -1, 2, 3, 1, -0.75F, 0.5F, 2, -2, 1, 1, 4}, {3, 4});
  const Tensor bias = Tensor::of<float>({1, 2, 3});
  const std::vector<float> product{0x1.88p+3F, 0x1.24p+3F,  0x1.dp+2F,  0x1.58p+3F, 0x1.6p+0F,
                                   0x1.8p+0F,  -0x1.2ap+4F, -0x1.3p+2F, -0x1.ep+2F};
  const std::vector<float> with_bias{0x1.a8p+3F, 0x1.64p+3F,  0x1.48p+3F, 0x1.78p+3F, 0x1.bp+1F,
                                     0x1.2p+2F,  -0x1.1ap+4F, -0x1.6p+1F, -0x1.2p+2F};
  CHECK(matmul(a, b.t()).to_vector<float>() == product);
  CHECK(linear(a, b, Tensor()).to_vector<float>() == product);
  CHECK(linear(a, b, bias).to_vector<float>() == with_bias);
  CHECK(linear(a.t().contiguous().t(), b.t().contiguous().t(), bias).to_vector<float>() ==
        with_bias);
  CHECK(linear(a[0], b, bias).to_vector<float>() ==
        std::vector<float>(with_bias.begin(), with_bias.begin() + 3));
  CHECK(linear(a.to(DType::kF64), b.to(DType::kF64), bias.to(DType::kF64)).dtype() == DType::kF64);
}

TEST_CASE("NaN and infinity reach the product", "[tensor]") {
  const Tensor a = Tensor::of<float>(std::vector<float>{0, std::nanf("")}, {1, 2});
  CHECK(std::isnan(matmul(a, Tensor::zeros({2, 1})).item<float>()));
}

TEST_CASE("Products refuse what does not fit, naming both", "[tensor]") {
  const Tensor a = Tensor::ones({2, 3});
  CHECK_THROWS_WITH(matmul(a, a), ContainsSubstring("float32 [2, 3] times float32 [2, 3]"));
  CHECK_THROWS_AS(matmul(a, a.t().to(DType::kF64)), DTypeError);
  CHECK_THROWS_AS(matmul(a.to(DType::kBool), a.t().to(DType::kBool)), DTypeError);
  CHECK_THROWS_AS(matmul(a.to(DType::kF16), a.t().to(DType::kF16)), DTypeError);
  CHECK_THROWS_AS(matmul(a, Tensor::scalar(2)), ShapeError);
  CHECK_THROWS_AS(matmul(a, Tensor::ones({1, 3, 2})), ShapeError);
  CHECK_THROWS_AS(matmul(a, Tensor()), ContractError);
  CHECK_THROWS_WITH(linear(a, a, Tensor::ones({3})),
                    ContainsSubstring("[n, in], [out, in] and [out]"));
  CHECK_THROWS_AS(linear(a, Tensor::ones({4, 2}), Tensor()), ShapeError);
  CHECK_THROWS_AS(linear(a, a, Tensor::ones({2}, DType::kF64)), DTypeError);
}

TEST_CASE("The number of threads is one until it is set", "[tensor]") {
  CHECK(get_num_threads() == 1);
  set_num_threads(2);
  CHECK(get_num_threads() == 2);
  const Tensor a = Tensor::ones({300, 300});
  CHECK(matmul(a, a).at<float>({299, 299}) == 300);
  set_num_threads(1);
  CHECK_THROWS_AS(set_num_threads(0), ContractError);
  CHECK_THROWS_AS(set_num_threads(100'000), ContractError);
}

TEST_CASE("A forked child multiplies after its parent did, with one thread and with two",
          "[tensor][fork]") {
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const Tensor a = Tensor::ones({400, 400});
    const Tensor expected = matmul(a, a);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // a hang becomes a signal
      const bool right = equal(matmul(a, a), expected) && get_num_threads() == threads;
      _exit(right ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(equal(matmul(a, a), expected));
  }
  set_num_threads(1);
}

}  // namespace plab
