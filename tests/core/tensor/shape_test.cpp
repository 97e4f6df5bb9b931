// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/shape.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <vector>

#include "plab/base/error.h"

namespace plab {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("A shape counts, prints and edits its sizes", "[tensor]") {
  Shape shape{2, 3, 4};
  CHECK(shape.numel() == 24);
  CHECK(shape.str() == "[2, 3, 4]");
  CHECK(shape.contiguous_strides() == Shape{12, 4, 1});
  shape.erase(1);
  CHECK(shape == Shape{2, 4});
  shape.insert(0, 7);
  shape.insert(3, 9);
  shape.insert(1, 8);
  CHECK(shape == Shape{7, 8, 2, 4, 9});
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{}.str() == "[]");
  CHECK(Shape{3, 0}.numel() == 0);
  CHECK(Shape{3, 0, 2}.contiguous_strides() == Shape{2, 2, 1});
  CHECK(Shape{1} != Shape{1, 1});
}

TEST_CASE("A shape refuses what it cannot count or hold", "[tensor]") {
  CHECK_THROWS_AS((Shape{-1, 2}.numel()), ShapeError);
  CHECK_THROWS_AS((Shape{INT64_MAX, 2}.numel()), ShapeError);
  CHECK((Shape{INT64_MAX, INT64_MAX, 0}.numel()) == 0);
  CHECK_THROWS_AS((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  CHECK_THROWS_AS(Shape(std::vector<std::int64_t>(9, 1)), ShapeError);
  Shape full{1, 1, 1, 1, 1, 1, 1, 1};
  CHECK_THROWS_AS(full.push_back(1), ShapeError);
  CHECK_THROWS_AS(full.insert(0, 1), ShapeError);
}

TEST_CASE("Broadcasting pairs sizes from the last dimension", "[tensor]") {
  CHECK(broadcast({2, 3}, {3}, "add") == Shape{2, 3});
  CHECK(broadcast({3}, {2, 1}, "add") == Shape{2, 3});
  CHECK(broadcast({}, {2, 1}, "add") == Shape{2, 1});
  CHECK(broadcast({5, 1, 4}, {3, 1}, "add") == Shape{5, 3, 4});
  CHECK(broadcast({0}, {1}, "add") == Shape{0});
  CHECK_THROWS_AS(broadcast({0}, {2}, "add"), ShapeError);
  CHECK_THROWS_WITH(broadcast({2, 3}, {4}, "add"),
                    ContainsSubstring("[tensor.add]") && ContainsSubstring("[2, 3] and [4]") &&
                        ContainsSubstring("3 against 4 in dimension 1"));
}

}  // namespace plab
