#pragma once
// SPDX-License-Identifier: Apache-2.0
// Labelled samples in memory, and what one does to them before training.

#include <cstdint>
#include <string>

#include "plab/tensor/tensor.h"

namespace plab::data {

/// n samples of d numbers each, and a class for each sample.
struct TensorDataset {
  Tensor features{};         ///< float32 [n, d], contiguous
  Tensor labels{};           ///< int64 [n], each in [0, classes)
  std::int64_t classes = 0;  ///< the largest label + 1, or more where a part lacks the last class

  [[nodiscard]] std::int64_t size() const { return features.size(0); }
  [[nodiscard]] std::int64_t width() const { return features.size(1); }
};

/// A dataset cut in two.
struct Split {
  TensorDataset train{};
  TensorDataset test{};
  Tensor train_rows{};  ///< int64: which samples of the whole went where
  Tensor test_rows{};
};

/// Cuts a shuffled copy: the first `train_fraction` of it (rounded, at least one sample on each
/// side) is for training. The same seed and size give the same cut on every machine.
/// @throws ContractError when there are fewer than two samples, or the fraction is not in (0, 1)
[[nodiscard]] Split split(const TensorDataset& data, double train_fraction, std::uint64_t seed);

/// Divides all features, in place, by the largest absolute value in `reference` (usually the
/// training part itself), so that they lie in [-1, 1]; returns that value. Zeros stay zeros.
double scale_by_max(const TensorDataset& data, const TensorDataset& reference);

/// Looks whether there is something to tell apart.
/// @throws DataError naming `file` when one class or no sample is there
void check_classes(const TensorDataset& data, const std::string& file);

}  // namespace plab::data
