// SPDX-License-Identifier: Apache-2.0
#include "plab/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "plab/base/error.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/random.h"

namespace plab::data {

namespace {

TensorDataset rows(const TensorDataset& data, const Tensor& order, std::int64_t begin,
                   std::int64_t end) {
  const Tensor index = order.slice(0, begin, end);
  return TensorDataset{.features = index_select(data.features, 0, index),
                       .labels = index_select(data.labels, 0, index),
                       .classes = data.classes};
}

}  // namespace

Split split(const TensorDataset& data, double train_fraction, std::uint64_t seed) {
  const std::int64_t n = data.size();
  if (n < 2 || !(train_fraction > 0 && train_fraction < 1)) {
    throw ContractError(
        fmt::format("[data.split] {} samples cut at {}; give at least 2 samples and a fraction "
                    "between 0 and 1, such as 0.8",
                    n, train_fraction));
  }
  Generator generator(seed);
  const Tensor order = Tensor::randperm(n, generator);
  const auto wanted =
      static_cast<std::int64_t>(std::llround(train_fraction * static_cast<double>(n)));
  const std::int64_t cut = std::clamp<std::int64_t>(wanted, 1, n - 1);
  return Split{.train = rows(data, order, 0, cut),
               .test = rows(data, order, cut, n),
               .train_rows = order.slice(0, 0, cut).clone(),
               .test_rows = order.slice(0, cut, n).clone()};
}

double scale_by_max(const TensorDataset& data, const TensorDataset& reference) {
  const std::span<const float> values(reference.features.data<float>(),
                                      static_cast<std::size_t>(reference.features.numel()));
  float most = 0;
  for (const float value : values) most = std::max(most, std::abs(value));
  if (most > 0) data.features.mul_(1.0 / static_cast<double>(most));
  return static_cast<double>(most);
}

void check_classes(const TensorDataset& data, const std::string& file) {
  if (data.size() == 0) throw DataError(file, 0, 0, "it holds no sample");
  const std::span<const std::int64_t> labels(data.labels.data<std::int64_t>(),
                                             static_cast<std::size_t>(data.size()));
  if (std::ranges::all_of(labels, [&](std::int64_t label) { return label == labels[0]; })) {
    throw DataError(file, 0, 0,
                    fmt::format("all {} samples are of class {}; at least two classes are needed "
                                "(is the right column the label?)",
                                labels.size(), labels[0]));
  }
}

}  // namespace plab::data
