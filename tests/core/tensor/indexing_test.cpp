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

TEST_CASE("gather agrees with its definition for any layout", "[tensor]") {
  Generator g(71);
  for (int round = 0; round < 500; ++round) {
    const Shape shape = test::random_shape(g);
    if (shape.dims() == 0 || shape.numel() == 0) continue;
    const Tensor a = test::random_view(g, shape, DType::kF32);
    const auto d =
        static_cast<std::size_t>(test::below(g, static_cast<std::int64_t>(shape.dims())));
    Shape index_shape = shape;
    for (auto& size : index_shape) size = 1 + test::below(g, size);
    index_shape[d] = test::below(g, 6);
    const Tensor index =
        Tensor::randint(0, shape[d], index_shape, g).transpose(0, -1).contiguous().transpose(0, -1);
    const Tensor out = gather(a, static_cast<std::int64_t>(d), index);
    REQUIRE(out.sizes() == index_shape);
    test::for_each_index(index_shape, [&](const Index& i) {
      Index from = i;
      from[d] = index.numel() == 0 ? 0 : [&] {
        std::int64_t offset = 0;
        for (std::size_t k = 0; k < i.size(); ++k) offset += i[k] * index.strides()[k];
        return index.data<std::int64_t>()[offset];
      }();
      std::int64_t offset = 0;
      for (std::size_t k = 0; k < from.size(); ++k) offset += from[k] * a.strides()[k];
      REQUIRE(test::pick<float>(out, i) == a.data<float>()[offset]);
    });
  }
}

TEST_CASE("gather and index_select name an index that is out of bounds", "[tensor]") {
  const Tensor a = Tensor::arange(6).view({2, 3});
  CHECK(gather(Tensor::scalar(5), 0, Tensor::scalar(0, DType::kI64)).item<int>() == 5);
  CHECK_THROWS_WITH(gather(a, 1, Tensor::of<std::int64_t>({3}).view({1, 1})),
                    ContainsSubstring("index 3 is out of bounds for dimension 1 of size 3"));
  CHECK_THROWS_WITH(index_select(a, 0, Tensor::of<std::int64_t>({0, -1})),
                    ContainsSubstring("index -1 is out of bounds for dimension 0 of size 2"));
  CHECK_THROWS_AS(gather(a, 1, Tensor::of<float>({1}).view({1, 1})), DTypeError);
  CHECK_THROWS_AS(gather(a, 1, Tensor::of<std::int64_t>({1})), ShapeError);
  CHECK_THROWS_AS(gather(a, 1, Tensor::zeros({3, 1}, DType::kI64)), ShapeError);
  CHECK_THROWS_AS(gather(a, 2, Tensor::zeros({1, 1}, DType::kI64)), ShapeError);
  CHECK_THROWS_AS(index_select(a, 0, Tensor::zeros({1, 1}, DType::kI64)), ShapeError);
  CHECK_THROWS_AS(index_select(a, 0, Tensor::of<std::int32_t>({0})), DTypeError);
  CHECK_THROWS_AS(index_select(Tensor::scalar(1), 0, Tensor::of<std::int64_t>({0})), ShapeError);
  CHECK_THROWS_AS(index_select(Tensor::empty({0, 3}), 0, Tensor::of<std::int64_t>({0})),
                  ShapeError);
}

TEST_CASE("index_select agrees with cat of slices", "[tensor]") {
  Generator g(72);
  for (int round = 0; round < 400; ++round) {
    const Shape shape = test::random_shape(g);
    if (shape.dims() == 0 || shape.numel() == 0) continue;
    const DType dtype = round % 3 == 0 ? DType::kF64 : round % 3 == 1 ? DType::kU8 : DType::kF16;
    const Tensor a = test::random_view(g, shape, dtype);
    const std::int64_t dim = test::below(g, static_cast<std::int64_t>(shape.dims()));
    const Tensor index = Tensor::randint(0, a.size(dim), {1 + test::below(g, 4)}, g);
    std::vector<Tensor> parts;
    for (const std::int64_t i : values(index)) parts.push_back(a.narrow(dim, i, 1));
    REQUIRE(equal(index_select(a, dim, index), cat(parts, dim)));
    REQUIRE(equal(index_select(a, dim - a.dim(), index), cat(parts, dim - a.dim())));
  }
  CHECK(index_select(Tensor::ones({2, 3}), 0, Tensor::empty({0}, DType::kI64)).sizes() ==
        Shape{0, 3});
  CHECK(index_select(Tensor::ones({2, 0}), 0, Tensor::of<std::int64_t>({1, 1, 0})).sizes() ==
        Shape{3, 0});
}

TEST_CASE("cat joins along a dimension and promotes", "[tensor]") {
  const Tensor a = Tensor::arange(4).view({2, 2});
  const Tensor parts[] = {a, a.t(), a.slice(1, 0, 1)};
  CHECK(values(cat(parts, 1)) == Index{0, 1, 0, 2, 0, 2, 3, 1, 3, 2});
  const Tensor mixed[] = {Tensor::of<std::int64_t>({1}), Tensor::of<float>({1.5F})};
  CHECK(cat(mixed, 0).to_vector<float>() == std::vector<float>{1, 1.5F});
  const Tensor with_empty[] = {Tensor::empty({0}), Tensor::ones({2, 3})};
  CHECK(cat(with_empty, 0).sizes() == Shape{2, 3});
  const Tensor empties[] = {Tensor::empty({0}), Tensor::empty({0})};
  CHECK(cat(empties, 0).sizes() == Shape{0});
  const Tensor wrong[] = {Tensor::ones({2, 3}), Tensor::ones({2, 2})};
  CHECK_THROWS_WITH(cat(wrong, 0), ContainsSubstring("part 1 is float32 [2, 2]"));
  CHECK_THROWS_AS(cat({}, 0), ContractError);
  CHECK_THROWS_AS(cat(wrong, 2), ShapeError);
  const Tensor scalars[] = {Tensor::scalar(1), Tensor::scalar(2)};
  CHECK_THROWS_AS(cat(scalars, 0), ShapeError);
  const Tensor undefined[] = {Tensor::ones({1}), Tensor()};
  CHECK_THROWS_AS(cat(undefined, 0), ContractError);
}

TEST_CASE("stack adds a dimension", "[tensor]") {
  const Tensor parts[] = {Tensor::of<std::int64_t>({1, 2}), Tensor::of<std::int64_t>({3, 4})};
  CHECK(values(stack(parts)) == Index{1, 2, 3, 4});
  CHECK(values(stack(parts, 1)) == Index{1, 3, 2, 4});
  CHECK(values(stack(parts, -1)) == Index{1, 3, 2, 4});
  const Tensor scalars[] = {Tensor::scalar(1), Tensor::scalar(2)};
  CHECK(stack(scalars).to_vector<float>() == std::vector<float>{1, 2});
  const Tensor wrong[] = {Tensor::ones({2}), Tensor::ones({3})};
  CHECK_THROWS_AS(stack(wrong), ShapeError);
  CHECK_THROWS_AS(stack({}), ContractError);
  CHECK_THROWS_AS(stack(parts, 2), ShapeError);
}

}  // namespace plab
