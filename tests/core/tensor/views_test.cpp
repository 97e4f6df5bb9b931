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

TEST_CASE("A view shares the bytes", "[tensor]") {
  const Tensor t = Tensor::arange(6);
  const Tensor v = t.view({2, -1});
  CHECK(v.sizes() == Shape{2, 3});
  v[1].fill_(9);
  CHECK(values(t) == Index{0, 1, 2, 9, 9, 9});
  CHECK(v.storage().is_same(t.storage()));
  CHECK(t.view({3, 1, 2}).strides() == Shape{2, 2, 1});
  CHECK(Tensor::scalar(5).view({1, 1}).sizes() == Shape{1, 1});
  CHECK(Tensor::of<float>({5}).view({}).dim() == 0);
}

TEST_CASE("view keeps PyTorch's rules for layouts", "[tensor]") {
  const Tensor t = Tensor::arange(24).view({2, 3, 4});
  CHECK(t.transpose(0, 1).view({3, 2, 2, 2}).strides() == Shape{4, 12, 2, 1});
  CHECK(t.slice(2, 0, 2).view({6, 2}).strides() == Shape{4, 1});
  CHECK(t.slice(1, 0, 2).view({2, 8}).strides() == Shape{12, 1});
  CHECK_THROWS_AS(t.slice(1, 0, 2).view({16}), ShapeError);
  CHECK_THROWS_WITH(t.transpose(0, 2).view({24}), ContainsSubstring("use reshape()"));
  CHECK(Tensor::arange(3).expand({2, 3}).view({2, 3, 1}).strides() == Shape{0, 1, 1});
  CHECK_THROWS_AS(Tensor::arange(3).expand({2, 3}).view({6}), ShapeError);
}

TEST_CASE("A shape that does not fit is refused with both numbers", "[tensor]") {
  const Tensor t = Tensor::arange(6);
  CHECK_THROWS_WITH(t.view({4, 2}), ContainsSubstring("[4, 2]") && ContainsSubstring("int64 [6]"));
  CHECK_THROWS_AS(t.view({-1, -1}), ShapeError);
  CHECK_THROWS_AS(t.view({-1, 4}), ShapeError);
  CHECK_THROWS_AS(t.view({-2, 3}), ShapeError);
  CHECK_THROWS_AS(t.reshape({7}), ShapeError);
  CHECK_THROWS_AS(Tensor::empty({0}).view({-1, 0}), ShapeError);
  CHECK(Tensor::empty({0, 3}).view({-1, 3}).sizes() == Shape{0, 3});
  CHECK_THROWS_AS(t.view({1LL << 62, 8}), ShapeError);
}

TEST_CASE("reshape copies only where a view cannot be", "[tensor]") {
  const Tensor t = Tensor::arange(6).view({2, 3});
  CHECK(t.reshape({3, 2}).storage().is_same(t.storage()));
  const Tensor copy = t.t().reshape({6});
  CHECK_FALSE(copy.storage().is_same(t.storage()));
  CHECK(values(copy) == Index{0, 3, 1, 4, 2, 5});
  CHECK(t.flatten().sizes() == Shape{6});
  CHECK(Tensor::arange(24).view({2, 3, 4}).flatten(1).sizes() == Shape{2, 12});
  CHECK(Tensor::scalar(1).flatten().sizes() == Shape{1});
  CHECK_THROWS_AS(t.flatten(2), ShapeError);
}

TEST_CASE("slice clamps as Python does", "[tensor]") {
  const Tensor t = Tensor::arange(10);
  CHECK(values(t.slice(0, 2, 5)) == Index{2, 3, 4});
  CHECK(values(t.slice(0, -3, 100)) == Index{7, 8, 9});
  CHECK(values(t.slice(0, -100, 2)) == Index{0, 1});
  CHECK(values(t.slice(0, 1, -1, 3)) == Index{1, 4, 7});
  CHECK(values(t.slice(0, 5, 2)).empty());
  CHECK(values(t.slice(0, 20, 30)).empty());
  CHECK(values(t.slice(0, 0, INT64_MAX, INT64_MAX)) == Index{0});
  CHECK(values(t.slice(0, INT64_MIN, INT64_MAX)) == values(t));
  CHECK_THROWS_AS(t.slice(0, 0, 5, 0), ShapeError);
  CHECK_THROWS_AS(t.slice(0, 0, 5, -1), ShapeError);
  CHECK_THROWS_AS(t.slice(1, 0, 5), ShapeError);
  CHECK_THROWS_AS(Tensor::scalar(1).slice(0, 0, 1), ShapeError);
}

TEST_CASE("narrow and select check their bounds", "[tensor]") {
  const Tensor t = Tensor::arange(12).view({3, 4});
  CHECK(values(t.narrow(1, 1, 2)) == Index{1, 2, 5, 6, 9, 10});
  CHECK(values(t.narrow(0, -1, 1)) == Index{8, 9, 10, 11});
  CHECK(t.narrow(0, 3, 0).numel() == 0);
  CHECK_THROWS_AS(t.narrow(0, 1, 3), ShapeError);
  CHECK_THROWS_AS(t.narrow(0, 4, 0), ShapeError);
  CHECK_THROWS_AS(t.narrow(0, 0, -1), ShapeError);
  CHECK_THROWS_AS(t.narrow(0, 1, INT64_MAX), ShapeError);
  CHECK(values(t.select(1, -1)) == Index{3, 7, 11});
  CHECK(t[2][1].item<int>() == 9);
  CHECK_THROWS_WITH(t[3], ContainsSubstring("index 3 in dimension 0 of size 3"));
  CHECK_THROWS_AS(t.select(0, -4), ShapeError);
  CHECK_THROWS_AS(Tensor::scalar(1)[0], ShapeError);
}

TEST_CASE("transpose, permute, expand, squeeze and unsqueeze move dimensions", "[tensor]") {
  const Tensor t = Tensor::arange(6).view({1, 2, 3});
  CHECK(t.transpose(-1, 1).sizes() == Shape{1, 3, 2});
  CHECK(t.permute({2, 0, -2}).sizes() == Shape{3, 1, 2});
  CHECK(values(t.permute({2, 0, 1})) == Index{0, 3, 1, 4, 2, 5});
  CHECK_THROWS_AS(t.permute({0, 1}), ShapeError);
  CHECK_THROWS_AS(t.permute({0, 1, 1}), ShapeError);
  CHECK_THROWS_AS(t.permute({0, 1, 3}), ShapeError);
  CHECK(t.expand({4, -1, 3}).sizes() == Shape{4, 2, 3});
  CHECK(t.expand({5, 4, 2, 3}).strides() == Shape{0, 0, 3, 1});
  CHECK(Tensor::empty({1}).expand({0}).numel() == 0);
  CHECK_THROWS_AS(t.expand({2, 3}), ShapeError);
  CHECK_THROWS_AS(t.expand({1, 2, 4}), ShapeError);
  CHECK_THROWS_AS(t.expand({-1, 1, 2, 3}), ShapeError);
  CHECK(t.squeeze(0).sizes() == Shape{2, 3});
  CHECK(t.squeeze(1).sizes() == Shape{1, 2, 3});
  CHECK(t.unsqueeze(-1).sizes() == Shape{1, 2, 3, 1});
  CHECK(t.unsqueeze(1).sizes() == Shape{1, 1, 2, 3});
  CHECK_THROWS_AS(t.unsqueeze(4), ShapeError);
  CHECK(Tensor::scalar(3).unsqueeze(0).sizes() == Shape{1});
  CHECK(Tensor::scalar(3).squeeze(0).dim() == 0);
  CHECK_THROWS_AS(t.t(), ShapeError);
  CHECK(Tensor::arange(3).t().sizes() == Shape{3});
}

TEST_CASE("Nine dimensions are refused by every view that adds one", "[tensor]") {
  const Tensor t = Tensor::ones({1, 1, 1, 1, 1, 1, 1, 1});
  CHECK_THROWS_AS(t.unsqueeze(0), ShapeError);
}

TEST_CASE("Chains of random views agree with index arithmetic", "[tensor]") {
  Generator g(11);
  for (int round = 0; round < 2000; ++round) {
    const Shape shape = test::random_shape(g);
    const Tensor t = test::random_view(g, shape, DType::kI64);
    Index flat;
    test::for_each_index(shape,
                         [&](const Index& i) { flat.push_back(test::pick<std::int64_t>(t, i)); });
    REQUIRE(values(t) == flat);
    REQUIRE(values(t.contiguous()) == flat);
    REQUIRE(values(t.clone()) == flat);
    REQUIRE(values(t.reshape({-1 + (t.numel() == 0 ? 1 : 0)})) == flat);
    REQUIRE(equal(t, t.clone()));
    // a view that succeeds has the same elements in the same order
    Shape other = shape;
    if (shape.dims() >= 2) {
      const auto at =
          static_cast<std::size_t>(test::below(g, static_cast<std::int64_t>(shape.dims()) - 1));
      other[at] *= other[at + 1];
      other.erase(at + 1);
    }
    try {
      const Tensor viewed = t.view(other);
      REQUIRE(values(viewed) == flat);
    } catch (const ShapeError&) {
      REQUIRE_FALSE(t.is_contiguous());
      REQUIRE(values(t.reshape(other)) == flat);
    }
  }
}

}  // namespace plab
