// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "plab/base/error.h"
#include "reference.h"

namespace plab {

using Catch::Matchers::ContainsSubstring;
using test::Index;

namespace {
std::vector<std::int64_t> values(const Tensor& t) { return t.to_vector<std::int64_t>(); }
}  // namespace

TEST_CASE("copy_ broadcasts and converts into any layout", "[tensor]") {
  Generator g(61);
  constexpr DType kAll[] = {DType::kF32, DType::kF64,  DType::kI32, DType::kI64,
                            DType::kU8,  DType::kBool, DType::kF16, DType::kBF16};
  for (int round = 0; round < 800; ++round) {
    const DType to = kAll[test::below(g, 8)];
    const DType from = kAll[test::below(g, 8)];
    const Shape shape = test::random_shape(g);
    const Tensor target = test::random_view(g, shape, to);
    const Tensor source = test::random_view(g, test::shrunk(g, shape), from);
    target.copy_(source);
    REQUIRE(equal(target, source.to(to).expand(shape)));
  }
}

TEST_CASE("In-place operations equal the ones that make a tensor", "[tensor]") {
  Generator g(62);
  for (int round = 0; round < 500; ++round) {
    const Shape shape = test::random_shape(g);
    const DType dtype = round % 2 == 0 ? DType::kF32 : DType::kI64;
    const Tensor a = test::random_view(g, shape, dtype);
    const Tensor b = test::random_view(g, test::shrunk(g, shape), dtype);
    const Tensor start = a.clone();
    REQUIRE(equal(a.add_(b), start + b));
    REQUIRE(equal(a.copy_(start).sub_(b), start - b));
    REQUIRE(equal(a.copy_(start).mul_(b), start * b));
    REQUIRE(equal(a.copy_(start).mul_(3), start * 3));
    REQUIRE(equal(a.copy_(start).add_(b, 2), start + b * 2));
    if (dtype == DType::kF32) REQUIRE(equal(a.copy_(start).div_(b), start / b));
  }
}

TEST_CASE("Contiguous float tensors add with a factor", "[tensor]") {
  const Tensor a = Tensor::of<float>({1, 2, 3});
  a.add_(Tensor::of<float>({10, 20, 30}), 0.5);
  CHECK(a.to_vector<float>() == std::vector<float>{6, 12, 18});
  a.sub_(Tensor::of<float>({1, 1, 1}), 2);
  CHECK(a.to_vector<float>() == std::vector<float>{4, 10, 16});
  a.add_(a);
  CHECK(a.to_vector<float>() == std::vector<float>{8, 20, 32});
  const Tensor d = Tensor::of<double>({1});
  d.add_(Tensor::of<double>({3}), -1.5).mul_(2);
  CHECK(d.item<double>() == -7);
}

TEST_CASE("A result is computed in the common dtype and kept in the target's", "[tensor]") {
  const Tensor a = Tensor::of<float>({1, 2});
  a.add_(Tensor::of<double>({0.5, 0.25}));
  CHECK(a.dtype() == DType::kF32);
  CHECK(a.to_vector<float>() == std::vector<float>{1.5F, 2.25F});
  a.add_(Tensor::of<std::int64_t>({1, 1}), 2);
  CHECK(a.to_vector<float>() == std::vector<float>{3.5F, 4.25F});
  const Tensor flag = Tensor::of<bool>({false, true});
  CHECK(flag.add_(Tensor::of<bool>({true, false})).to_vector<bool>() ==
        std::vector<bool>{true, true});
}

TEST_CASE("Results that the target cannot keep are refused", "[tensor]") {
  const Tensor whole = Tensor::of<std::int64_t>({4, 6});
  CHECK_THROWS_WITH(whole.add_(Tensor::ones({2})),
                    ContainsSubstring("float32 cannot be kept in the target int64 [2]"));
  CHECK_THROWS_AS(whole.div_(whole), DTypeError);
  CHECK_THROWS_AS(whole.mul_(2.5), DTypeError);
  CHECK_THROWS_AS(whole.add_(whole, 0.5), DTypeError);
  CHECK_THROWS_AS(Tensor::of<bool>({true}).add_(Tensor::of<std::int64_t>({1})), DTypeError);
  CHECK_THROWS_AS(Tensor::of<bool>({true}).mul_(2), DTypeError);
  CHECK_THROWS_AS(Tensor::ones({2}).to(DType::kF16).add_(Tensor::ones({2})), DTypeError);
  CHECK_THROWS_AS(Tensor::ones({2}).to(DType::kF16).mul_(2), DTypeError);
  CHECK(values(whole) == Index{4, 6});
}

TEST_CASE("A target does not grow", "[tensor]") {
  const Tensor t = Tensor::zeros({3});
  CHECK_THROWS_WITH(t.add_(Tensor::ones({2, 3})), ContainsSubstring("target itself does not grow"));
  CHECK_THROWS_AS(t.copy_(Tensor::ones({2, 3})), ShapeError);
  CHECK_THROWS_AS(Tensor::zeros({1}).mul_(t), ShapeError);
  CHECK_THROWS_AS(t.copy_(Tensor::ones({2})), ShapeError);
  CHECK_THROWS_AS(t.copy_(Tensor()), ContractError);
  CHECK_THROWS_AS(t.add_(Tensor()), ContractError);
}

TEST_CASE("An expanded target is refused, since its elements are one", "[tensor]") {
  const Tensor t = Tensor::arange(3).expand({2, 3});
  CHECK_THROWS_WITH(t.fill_(1), ContainsSubstring("clone() it first"));
  CHECK_THROWS_AS(t.add_(Tensor::arange(3)), ContractError);
  CHECK_THROWS_AS(t.copy_(Tensor::arange(3)), ContractError);
}

TEST_CASE("An operand that overlaps the target is read before it is written", "[tensor]") {
  const Tensor t = Tensor::arange(6);
  t.slice(0, 1, 6).add_(t.slice(0, 0, 5));
  CHECK(values(t) == Index{0, 1, 3, 5, 7, 9});
  t.slice(0, 1, 6).copy_(t.slice(0, 0, 5));
  CHECK(values(t) == Index{0, 0, 1, 3, 5, 7});
  const Tensor square = Tensor::arange(4).view({2, 2});
  square.copy_(square.t());
  CHECK(values(square) == Index{0, 2, 1, 3});
  square.mul_(square[0]);
  CHECK(values(square) == Index{0, 4, 0, 6});
  const Tensor f = Tensor::arange(5, DType::kF32);
  f.narrow(0, 1, 4).add_(f.narrow(0, 0, 4));
  CHECK(f.to_vector<float>() == std::vector<float>{0, 1, 3, 5, 7});
}

TEST_CASE("contiguous gives itself, clone and to a copy", "[tensor]") {
  const Tensor t = Tensor::arange(6).view({2, 3});
  CHECK(t.contiguous().is_same(t));
  CHECK_FALSE(t.t().contiguous().storage().is_same(t.storage()));
  CHECK_FALSE(t.clone().storage().is_same(t.storage()));
  CHECK(t.t().clone().is_contiguous());
  CHECK(t.to(DType::kI64).is_same(t));
  CHECK(t.slice(1, 0, 1).to(DType::kF32).to_vector<float>() == std::vector<float>{0, 3});
  CHECK(t.slice(0, 1, 2).is_contiguous());
  t.slice(1, 1, 2).zero_();
  CHECK(values(t) == Index{0, 0, 2, 3, 0, 5});
}

}  // namespace plab
