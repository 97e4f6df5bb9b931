// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "plab/base/error.h"
#include "reference.h"

namespace plab {

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

const Tensor& sample() {
  static const Tensor a = Tensor::of<float>(
      std::vector<float>{1.5F, -2, 0.25F, 3, 0, -0.5F, 7, -1.25F, 2, 4, -8, 0.125F}, {3, 4});
  return a;
}

bool close_to(const Tensor& a, std::vector<float> expected) {
  return allclose(a.flatten(), Tensor::of<float>(expected, {a.numel()}), 1e-6, 1e-7);
}

}  // namespace

TEST_CASE("Functions have PyTorch's values", "[tensor]") {
  const Tensor& a = sample();
  const Tensor size = abs(a);
  CHECK(close_to(exp(a), {0x1.1ed3fep+2F, 0x1.152aaap-3F, 0x1.48b5e4p+0F, 0x1.415e5cp+4F, 1,
                          0x1.368b3p-1F, 0x1.122886p+10F, 0x1.256184p-2F, 0x1.d8e64cp+2F,
                          0x1.b4c904p+5F, 0x1.5fc21p-12F, 0x1.221604p+0F}));
  CHECK(close_to(tanh(a), {0x1.cf6f98p-1F, -0x1.ed9506p-1F, 0x1.f597eap-3F, 0x1.fd77d2p-1F, 0,
                           -0x1.d9353ep-2F, 0x1.ffffc8p-1F, -0x1.b2523cp-1F, 0x1.ed9506p-1F,
                           0x1.ffa818p-1F, -0x1.fffff8p-1F, 0x1.fd5992p-4F}));
  CHECK(close_to(sqrt(size), {0x1.3988e2p+0F, 0x1.6a09e6p+0F, 0.5F, 0x1.bb67aep+0F, 0,
                              0x1.6a09e6p-1F, 0x1.52a7fap+1F, 0x1.1e377ap+0F, 0x1.6a09e6p+0F, 2,
                              0x1.6a09e6p+1F, 0x1.6a09e6p-2F}));
  CHECK(close_to(ln(size), {0x1.9f323ep-2F, 0x1.62e43p-1F, -0x1.62e43p+0F, 0x1.193ea8p+0F, -kInf,
                            -0x1.62e43p-1F, 0x1.f2272ap+0F, 0x1.c8ff7cp-3F, 0x1.62e43p-1F,
                            0x1.62e43p+0F, 0x1.0a2b24p+1F, -0x1.0a2b24p+1F}));
  CHECK(close_to(pow(a, 3),
                 {3.375F, -8, 0x1p-6F, 27, 0, -0.125F, 343, -1.953125F, 8, 64, -512, 0x1p-9F}));
  CHECK(close_to(pow(a, 2), {2.25F, 4, 0.0625F, 9, 0, 0.25F, 49, 1.5625F, 4, 16, 64, 0x1p-6F}));
  CHECK(equal(pow(size, 0.5), sqrt(size)));
  CHECK(close_to(relu(a), {1.5F, 0, 0.25F, 3, 0, 0, 7, 0, 2, 4, 0, 0.125F}));
  CHECK(close_to(neg(a), {-1.5F, 2, -0.25F, -3, 0, 0.5F, -7, 1.25F, -2, -4, 8, -0.125F}));
}

TEST_CASE("Functions of views equal functions of their copies", "[tensor]") {
  Generator g(31);
  for (int round = 0; round < 300; ++round) {
    const Tensor a = test::random_view(g, test::random_shape(g), DType::kF32);
    const Tensor copy = a.clone();
    CHECK(equal(exp(a), exp(copy)));
    CHECK(equal(tanh(a), tanh(copy)));
    CHECK(equal(relu(a), relu(copy)));
    CHECK(equal(neg(a), neg(copy)));
    CHECK(equal(abs(a), abs(copy)));
  }
}

TEST_CASE("Whole numbers become float32 where the result is broken, and stay whole otherwise",
          "[tensor]") {
  const Tensor a = Tensor::of<std::int64_t>({-1, 4});
  CHECK(exp(a).dtype() == DType::kF32);
  CHECK(sqrt(Tensor::of<bool>({true})).item<float>() == 1);
  CHECK(abs(a).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 4});
  CHECK(relu(a).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 4});
  CHECK(pow(a, 2).to_vector<float>() == std::vector<float>{1, 16});
  CHECK(neg(Tensor::of<std::uint8_t>({1})).item<int>() == 255);
  CHECK(neg(Tensor::of<std::int32_t>({INT32_MIN})).item<int>() == INT32_MIN);
  CHECK(abs(Tensor::of<std::int64_t>({INT64_MIN})).item<std::int64_t>() == INT64_MIN);
  CHECK(exp(Tensor::of<double>({1})).item<double>() == std::exp(1.0));
}

TEST_CASE("NaN goes through relu, and negative zero stays", "[tensor]") {
  const auto out = relu(Tensor::of<float>({std::nanf(""), -0.0F, -kInf})).to_vector<float>();
  CHECK(std::isnan(out[0]));
  CHECK(out[2] == 0);
}

TEST_CASE("Functions refuse bool and halves where PyTorch does", "[tensor]") {
  const Tensor flag = Tensor::of<bool>({true});
  CHECK_THROWS_AS(neg(flag), DTypeError);
  CHECK_THROWS_AS(abs(flag), DTypeError);
  CHECK_THROWS_AS(relu(flag), DTypeError);
  CHECK_THROWS_AS(exp(flag.to(DType::kF16)), DTypeError);
  CHECK_THROWS_AS(tanh(Tensor()), ContractError);
}

}  // namespace plab
