// SPDX-License-Identifier: Apache-2.0
#include "plab/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "plab/base/error.h"
#include "plab/data/csv.h"

namespace data = plab::data;

namespace {

data::TensorDataset numbered(std::int64_t n) {
  std::string text;
  for (std::int64_t i = 0; i < n; ++i) {
    text += fmt::format("{},{},{}\n", i, -2 * i, i % 3);
  }
  return data::parse_csv(text, "numbers");
}

}  // namespace

TEST_CASE("a split has every sample once, with its label, and repeats for a seed", "[data]") {
  const auto all = numbered(50);
  const auto cut = data::split(all, 0.8, 7);
  REQUIRE(cut.train.size() == 40);
  REQUIRE(cut.test.size() == 10);
  std::vector<int> seen(50, 0);
  for (const auto* part : {&cut.train, &cut.test}) {
    const auto& rows = part == &cut.train ? cut.train_rows : cut.test_rows;
    for (std::int64_t i = 0; i < part->size(); ++i) {
      const auto row = static_cast<std::int64_t>(part->features.at<float>({i, 0}));
      ++seen[static_cast<std::size_t>(row)];
      CHECK(part->features.at<float>({i, 1}) == static_cast<float>(-2 * row));
      CHECK(part->labels.at<std::int64_t>({i}) == row % 3);
      CHECK(rows.at<std::int64_t>({i}) == row);
    }
    CHECK(part->classes == 3);
  }
  CHECK(std::ranges::count(seen, 1) == 50);
  CHECK(data::split(all, 0.8, 7).test_rows.to_vector<int>() == cut.test_rows.to_vector<int>());
  CHECK(data::split(all, 0.8, 8).test_rows.to_vector<int>() != cut.test_rows.to_vector<int>());
  CHECK(cut.test_rows.to_vector<int>() != std::vector<int>{40, 41, 42, 43, 44, 45, 46, 47, 48, 49});
}

TEST_CASE("each side of a split has a sample, and nonsense is refused", "[data]") {
  CHECK(data::split(numbered(2), 0.01, 1).train.size() == 1);
  CHECK(data::split(numbered(2), 0.99, 1).test.size() == 1);
  CHECK_THROWS_AS(data::split(numbered(5), 0, 1), plab::ContractError);
  CHECK_THROWS_AS(data::split(numbered(5), 1, 1), plab::ContractError);
}

TEST_CASE("features are scaled by the largest value of the reference", "[data]") {
  const auto all = numbered(11);
  CHECK(data::scale_by_max(all, all) == 20);
  CHECK(all.features.at<float>({10, 1}) == -1);
  CHECK(all.features.at<float>({10, 0}) == 0.5F);
  const auto zeros = data::parse_csv("0,0\n0,1\n", "zeros");
  CHECK(data::scale_by_max(zeros, zeros) == 0);
  CHECK(zeros.features.at<float>({0, 0}) == 0);
}

TEST_CASE("the digits are what their notice says", "[data]") {
  const auto digits = data::read_csv(PLAB_DIGITS);
  CHECK(digits.size() == 1797);
  CHECK(digits.width() == 64);
  CHECK(digits.classes == 10);
  const auto features = digits.features.to_vector<float>();
  CHECK(*std::ranges::min_element(features) == 0);
  CHECK(*std::ranges::max_element(features) == 16);
}
