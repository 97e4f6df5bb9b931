#pragma once
// SPDX-License-Identifier: Apache-2.0
// Losses: how far an output is from what it should be, as one number to call backward() on.

#include <cstdint>
#include <string>

#include "plab/tensor/tensor.h"

namespace plab::nn {

/// What becomes of the losses of the rows (for MSELoss: of the elements).
enum class Reduction : std::uint8_t { kMean, kSum, kNone };

/// -log softmax(logits)[label] of each row, in one pass that also keeps the softmax for the
/// backward. Rows whose label is kIgnoreIndex count for nothing (the mean of no row is NaN, as in
/// PyTorch).
/// @param logits [n, classes], float32 or float64
/// @param labels [n], int64 (int32 and uint8 are converted)
/// @throws ShapeError, DTypeError; ContractError naming the row of the first label that is outside
/// 0 to classes - 1
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                                   Reduction reduction = Reduction::kMean);
/// PyTorch's default ignore_index.
inline constexpr std::int64_t kIgnoreIndex = -100;

/// (a - b)^2 of each element.
/// @throws ShapeError when the shapes differ: broadcasting [n, 1] against [n] is nearly always a
/// mistake (PyTorch only warns)
[[nodiscard]] Tensor mse_loss(const Tensor& a, const Tensor& b,
                              Reduction reduction = Reduction::kMean);

/// cross_entropy() with its reduction chosen once.
class CrossEntropyLoss {
 public:
  explicit CrossEntropyLoss(Reduction reduction = Reduction::kMean) noexcept
      : reduction_(reduction) {}
  [[nodiscard]] Tensor operator()(const Tensor& logits, const Tensor& labels) const {
    return cross_entropy(logits, labels, reduction_);
  }

 private:
  Reduction reduction_;
};

/// mse_loss() with its reduction chosen once.
class MSELoss {
 public:
  explicit MSELoss(Reduction reduction = Reduction::kMean) noexcept : reduction_(reduction) {}
  [[nodiscard]] Tensor operator()(const Tensor& a, const Tensor& b) const {
    return mse_loss(a, b, reduction_);
  }

 private:
  Reduction reduction_;
};

}  // namespace plab::nn
