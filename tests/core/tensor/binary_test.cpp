// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "plab/base/error.h"
#include "reference.h"

namespace plab {

using Catch::Matchers::ContainsSubstring;
using test::Index;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr DType kComputable[] = {DType::kF32, DType::kF64, DType::kI32,
                                 DType::kI64, DType::kU8,  DType::kBool};

// Compares with a loop over index lists, which computes in T.
template <typename T, typename R>
void check_against_loop(const Tensor& a, const Tensor& b, const Tensor& out,
                        const std::function<R(T, T)>& f) {
  const Tensor x = a.to(dtype_of<T>);
  const Tensor y = b.to(dtype_of<T>);
  REQUIRE(out.sizes() == broadcast(a.sizes(), b.sizes(), "test"));
  REQUIRE(out.dtype() == dtype_of<R>);
  test::for_each_index(out.sizes(), [&](const Index& i) {
    const R expected = f(test::pick<T>(x, i), test::pick<T>(y, i));
    if (test::pick<R>(out, i) != expected) {
      FAIL(a.str() << " with " << b.str() << " gave " << out.str());
    }
  });
}

}  // namespace

TEST_CASE("Random operands of any layout agree with plain loops in float32", "[tensor]") {
  Generator g(21);
  for (int round = 0; round < 1500; ++round) {
    const Shape shape = test::random_shape(g);
    const Tensor a = test::random_view(g, test::shrunk(g, shape), DType::kF32);
    const Tensor b = test::random_view(g, test::shrunk(g, shape), DType::kF32);
    check_against_loop<float, float>(a, b, a + b, [](float x, float y) { return x + y; });
    check_against_loop<float, float>(a, b, a - b, [](float x, float y) { return x - y; });
    check_against_loop<float, float>(a, b, a * b, [](float x, float y) { return x * y; });
    check_against_loop<float, float>(a, b, a / b, [](float x, float y) { return x / y; });
    check_against_loop<float, float>(a, b, maximum(a, b),
                                     [](float x, float y) { return std::max(x, y); });
    check_against_loop<float, bool>(a, b, lt(a, b), [](float x, float y) { return x < y; });
    check_against_loop<float, bool>(a, b, gt(a, b), [](float x, float y) { return x > y; });
    check_against_loop<float, bool>(a, b, eq(a, b), [](float x, float y) { return x == y; });
  }
}

TEST_CASE("Random operands of any two dtypes agree with plain loops in int64", "[tensor]") {
  Generator g(22);
  constexpr DType kWhole[] = {DType::kI32, DType::kI64, DType::kU8, DType::kBool};
  for (int round = 0; round < 600; ++round) {
    const Shape shape = test::random_shape(g, 3);
    const Tensor a = test::random_view(g, test::shrunk(g, shape), kWhole[round % 4]);
    const Tensor b = test::random_view(g, test::shrunk(g, shape), DType::kI64);
    if (a.dim() == 0 || b.dim() == 0) continue;  // scalars promote by other rules, tested below
    check_against_loop<std::int64_t, std::int64_t>(
        a, b, a + b, [](std::int64_t x, std::int64_t y) { return x + y; });
    check_against_loop<std::int64_t, std::int64_t>(
        b, a, b - a, [](std::int64_t x, std::int64_t y) { return x - y; });
    check_against_loop<std::int64_t, std::int64_t>(
        a, b, a * b, [](std::int64_t x, std::int64_t y) { return x * y; });
  }
}

TEST_CASE("The result dtype is PyTorch's for every pair", "[tensor]") {
  for (const DType x : kComputable) {
    for (const DType y : kComputable) {
      INFO(name_of(x) << " and " << name_of(y));
      const Tensor a = Tensor::ones({2}, x);
      const Tensor b = Tensor::ones({2}, y);
      CHECK((a + b).dtype() == promote(x, y));
      CHECK((a * b).dtype() == promote(x, y));
      CHECK((a / b).dtype() == (is_floating(promote(x, y)) ? promote(x, y) : DType::kF32));
      CHECK(eq(a, b).to_vector<bool>() == std::vector<bool>{true, true});
    }
  }
}

TEST_CASE("A scalar tensor changes the dtype only by a higher category", "[tensor]") {
  const auto result = [](DType tensor, DType scalar) {
    return (Tensor::ones({2}, tensor) + Tensor::scalar(1, scalar)).dtype();
  };
  CHECK(result(DType::kF32, DType::kF64) == DType::kF32);
  CHECK(result(DType::kI32, DType::kF64) == DType::kF64);
  CHECK(result(DType::kU8, DType::kI64) == DType::kU8);
  CHECK(result(DType::kBool, DType::kU8) == DType::kU8);
  CHECK((Tensor::scalar(1, DType::kI32) + Tensor::scalar(1, DType::kI64)).dtype() == DType::kI64);
}

TEST_CASE("A C++ number keeps whole tensors whole unless it is broken", "[tensor]") {
  const Tensor whole = Tensor::of<std::int64_t>({1, 2});
  CHECK((whole * 2).to_vector<std::int64_t>() == Index{2, 4});
  CHECK((whole * 2.5).to_vector<float>() == std::vector<float>{2.5F, 5});
  CHECK((whole + 1).dtype() == DType::kI64);
  CHECK((whole - 1.0).dtype() == DType::kF32);
  CHECK((10 - whole).to_vector<std::int64_t>() == Index{9, 8});
  CHECK((Tensor::of<bool>({true, false}) * 3).to_vector<std::int64_t>() == Index{3, 0});
  CHECK((Tensor::of<std::int64_t>({-5, 5}) / 2).to_vector<float>() ==
        std::vector<float>{-2.5F, 2.5F});
  CHECK((Tensor::of<double>({1}) / 3).item<double>() == 1.0 / 3);
  CHECK((2.0 * Tensor::of<float>({1.5F}) + 1).item<float>() == 4);
  CHECK((Tensor::of<std::uint8_t>({5, 6}) - 7).to_vector<std::uint8_t>() ==
        std::vector<std::uint8_t>{254, 255});
  CHECK((Tensor::of<std::int64_t>({1}) + (INT64_MAX - 1)).item<std::int64_t>() == INT64_MAX);
}

TEST_CASE("Whole numbers wrap, bool adds as or and multiplies as and", "[tensor]") {
  CHECK((Tensor::of<std::int32_t>({INT32_MAX}) + Tensor::of<std::int32_t>({1})).item<int>() ==
        INT32_MIN);
  CHECK((Tensor::of<std::int64_t>({INT64_MIN}) - 1).item<std::int64_t>() == INT64_MAX);
  CHECK((Tensor::of<std::int64_t>({INT64_MAX}) * 2).item<std::int64_t>() == -2);
  const Tensor a = Tensor::of<bool>({true, true, false, false});
  const Tensor b = Tensor::of<bool>({true, false, true, false});
  CHECK((a + b).to_vector<bool>() == std::vector<bool>{true, true, true, false});
  CHECK((a * b).to_vector<bool>() == std::vector<bool>{true, false, false, false});
  CHECK_THROWS_AS(a - b, DTypeError);
}

TEST_CASE("Division by zero and NaN behave as in PyTorch", "[tensor]") {
  const auto by_zero = (Tensor::arange(3) / 0).to_vector<float>();
  CHECK(std::isnan(by_zero[0]));
  CHECK(by_zero[1] == kInf);
  const auto most =
      maximum(Tensor::of<float>({1, kNan, 3}), Tensor::of<float>({kNan, 2, 2})).to_vector<float>();
  CHECK(std::isnan(most[0]));
  CHECK(std::isnan(most[1]));
  CHECK(most[2] == 3);
  CHECK_FALSE(eq(Tensor::of<float>({kNan}), Tensor::of<float>({kNan})).item<bool>());
}

TEST_CASE("Errors name the operation and both operands", "[tensor]") {
  const Tensor a = Tensor::ones({2, 3});
  CHECK_THROWS_WITH(a + Tensor::ones({4}),
                    ContainsSubstring("[tensor.add]") && ContainsSubstring("[2, 3] and [4]"));
  CHECK_THROWS_AS(a * Tensor::ones({3, 2}), ShapeError);
  CHECK_THROWS_WITH(a + a.to(DType::kF16),
                    ContainsSubstring("float16 [2, 3]") && ContainsSubstring("to(DType::kF32)"));
  CHECK_THROWS_AS(a.to(DType::kBF16) * 2.0, DTypeError);
  CHECK_THROWS_AS(a + Tensor(), ContractError);
  CHECK_THROWS_AS(Tensor() * a, ContractError);
  CHECK_THROWS_AS(lt(a, Tensor()), ContractError);
}

TEST_CASE("equal compares shapes, dtypes and values; allclose has tolerances", "[tensor]") {
  const Tensor a = Tensor::of<float>({1, 2, 3, 4}).view({2, 2});
  CHECK(equal(a, a.t().contiguous().t()));
  CHECK_FALSE(equal(a, a.t()));
  CHECK_FALSE(equal(a, a.view({4})));
  CHECK_FALSE(equal(a, a.to(DType::kF64)));
  CHECK_FALSE(equal(Tensor::of<float>({kNan}), Tensor::of<float>({kNan})));
  CHECK(equal(Tensor::empty({0, 2}), Tensor::empty({0, 2})));
  CHECK(equal(a.to(DType::kF16), a.to(DType::kF16)));
  CHECK(allclose(a, a * 1.000001));
  CHECK_FALSE(allclose(a, a * 1.001));
  CHECK(allclose(a, a * 1.001, 0.01));
  CHECK(allclose(Tensor::of<float>({kInf}), Tensor::of<float>({kInf})));
  CHECK_FALSE(allclose(Tensor::of<float>({1}), Tensor::of<float>({kInf})));
  CHECK_FALSE(allclose(Tensor::of<float>({kNan}), Tensor::of<float>({kNan})));
  CHECK_THROWS_AS(allclose(a, a.view({4})), ShapeError);
}

TEST_CASE("Operations on no elements give no elements", "[tensor]") {
  CHECK((Tensor::empty({0, 3}) + Tensor::ones({3})).sizes() == Shape{0, 3});
  CHECK((Tensor::empty({2, 0}) * Tensor::ones({2, 1})).numel() == 0);
}

}  // namespace plab
