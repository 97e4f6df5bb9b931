// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/tensor.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "plab/base/error.h"

namespace plab {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("Tensors are made with values of any dtype", "[tensor]") {
  CHECK(Tensor::zeros({2, 2}, DType::kI32).to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{0, 0, 0, 0});
  CHECK(Tensor::ones({3}, DType::kF16).to_vector<float>() == std::vector<float>{1, 1, 1});
  CHECK(Tensor::full({2}, -2.75, DType::kI64).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{-2, -2});
  CHECK(Tensor::full({2}, 0.1, DType::kBool).to_vector<bool>() == std::vector<bool>{true, true});
  CHECK(Tensor::arange(4, DType::kF32).to_vector<float>() == std::vector<float>{0, 1, 2, 3});
  CHECK(Tensor::arange(0).numel() == 0);
  CHECK_THROWS_AS(Tensor::arange(-1), ShapeError);
  const Tensor t = Tensor::of<double>(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(t.at<double>({1, 0}) == 4);
  CHECK(t.at<double>({-1, -1}) == 6);
  CHECK_THROWS_AS(Tensor::of<double>(std::vector<double>{1, 2}, {3}), ShapeError);
}

TEST_CASE("A tensor tells what it is", "[tensor]") {
  const Tensor t = Tensor::empty({2, 3, 4}, DType::kF64);
  CHECK(t.defined());
  CHECK(t.dim() == 3);
  CHECK(t.numel() == 24);
  CHECK(t.size(-1) == 4);
  CHECK(t.size(0) == 2);
  CHECK(t.strides() == Shape{12, 4, 1});
  CHECK(t.storage_offset() == 0);
  CHECK(t.storage().bytes() == 192);
  CHECK(t.is_contiguous());
  CHECK_FALSE(t.is_shared());
  CHECK_THROWS_AS(t.size(3), ShapeError);
  CHECK_THROWS_AS(t.size(-4), ShapeError);
  CHECK_THROWS_AS(Tensor::scalar(1).size(0), ShapeError);
}

TEST_CASE("Copying a tensor copies the reference", "[tensor]") {
  const Tensor a = Tensor::zeros({3});
  const Tensor b = a;  // NOLINT(performance-unnecessary-copy-initialization)
  b.fill_(7);
  CHECK(a.at<float>({1}) == 7);
  CHECK(a.is_same(b));
  CHECK_FALSE(a.is_same(a.detach()));
}

TEST_CASE("An undefined tensor answers only defined()", "[tensor]") {
  const Tensor none;
  CHECK_FALSE(none.defined());
  CHECK_FALSE(none.requires_grad());
  CHECK_THROWS_AS(none.sizes(), ContractError);
  CHECK_THROWS_AS(none.data<float>(), ContractError);
  CHECK_THROWS_AS(none.fill_(1), ContractError);
  CHECK_THROWS_AS(none.clone(), ContractError);
  CHECK_THROWS_AS(none.share_memory(), ContractError);
  CHECK_THROWS_WITH(none.numel(), ContainsSubstring("undefined"));
}

TEST_CASE("data and item check the dtype and the number of elements", "[tensor]") {
  const Tensor t = Tensor::of<float>({1, 2});
  CHECK_THROWS_WITH(t.data<double>(), ContainsSubstring("data<float64>() of a tensor float32 [2]"));
  CHECK_THROWS_AS(t.item<float>(), ShapeError);
  CHECK_THROWS_AS(Tensor::empty({0}).item<float>(), ShapeError);
  CHECK(Tensor::of<float>({2.5F}).item<double>() == 2.5);
  CHECK(Tensor::of<float>({2.5F}).item<int>() == 2);
  CHECK(Tensor::of<float>({0.5F}).item<bool>());
  CHECK(Tensor::of<std::int64_t>({INT64_MAX - 1}).item<std::int64_t>() == INT64_MAX - 1);
  CHECK_THROWS_AS(t.at<float>({2}), ShapeError);
  CHECK_THROWS_AS(t.at<float>({0, 0}), ShapeError);
}

TEST_CASE("view_of refuses to reach outside its storage", "[tensor]") {
  const Storage storage = Storage::heap(12 * sizeof(float));
  const auto view = [&](const Shape& sizes, const Shape& strides, std::int64_t offset) {
    return Tensor::view_of(storage, DType::kF32, sizes, strides, offset);
  };
  CHECK(view({3, 4}, {4, 1}, 0).numel() == 12);
  CHECK(view({3}, {4}, 3).numel() == 3);
  CHECK(view({5}, {0}, 11).numel() == 5);
  CHECK(view({0, 9}, {100, 100}, 12).numel() == 0);
  CHECK(view({1}, {INT64_MAX}, 0).numel() == 1);
  CHECK_THROWS_AS(view({3, 4}, {4, 1}, 1), ShapeError);
  CHECK_THROWS_AS(view({3}, {4}, 4), ShapeError);
  CHECK_THROWS_AS(view({2}, {1}, -1), ShapeError);
  CHECK_THROWS_AS(view({2}, {-1}, 3), ShapeError);
  CHECK_THROWS_AS(view({-2}, {1}, 3), ShapeError);
  CHECK_THROWS_AS(view({2}, {1, 1}, 0), ShapeError);
  CHECK_THROWS_AS(view({3}, {INT64_MAX}, 0), ShapeError);
  CHECK_THROWS_AS(view({2, 2}, {INT64_MAX, INT64_MAX}, 1), ShapeError);
  CHECK_THROWS_AS(view({0}, {1}, 13), ShapeError);
  CHECK_THROWS_AS(Tensor::view_of(Storage(), DType::kF32, {1}, {1}, 0), ShapeError);
  CHECK_THROWS_WITH(view({13}, {1}, 0), ContainsSubstring("48 bytes"));
}

TEST_CASE("Conversions are defined for every value", "[tensor]") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor t = Tensor::of<double>({-1.9, 300.7, kInf, -kInf, 1e300, std::nan("")});
  CHECK(t.to(DType::kI64).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{-1, 300, INT64_MAX, INT64_MIN, INT64_MAX, 0});
  CHECK(t.to(DType::kI32).to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{-1, 300, INT32_MAX, INT32_MIN, INT32_MAX, 0});
  CHECK(t.to(DType::kU8).to_vector<std::uint8_t>()[1] == 44);
  CHECK(t.to(DType::kBool).to_vector<bool>() ==
        std::vector<bool>{true, true, true, true, true, true});
  CHECK(Tensor::of<std::int64_t>({-1, 256, 1LL << 33}).to(DType::kU8).to_vector<std::uint8_t>() ==
        std::vector<std::uint8_t>{255, 0, 0});
  CHECK(Tensor::of<std::int64_t>({(1LL << 33) + 5}).to(DType::kI32).item<int>() == 5);
  CHECK(Tensor::of<bool>({true, false}).to(DType::kF64).to_vector<double>() ==
        std::vector<double>{1, 0});
  CHECK(Tensor::of<float>({70000, 0.1F}).to(DType::kF16).to(DType::kF32).to_vector<float>() ==
        std::vector<float>{std::numeric_limits<float>::infinity(), 0.0999755859375F});
}

}  // namespace plab
