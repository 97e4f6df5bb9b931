// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plab/base/error.h"
#include "plab/nn/record.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

namespace {

struct Rows {
  std::int64_t count = 0;
  std::int64_t classes = 0;
};

// Fills `shares` with the softmax of `logits`, and `losses` with -log of each label's share. With
// the row's greatest logit taken off, no exponential overflows, and the loss comes from the logits
// and the sum: it is right also where the share is too small to be told from 0.
template <typename T>
void forward_rows(const Rows& rows, const T* logits, const std::int64_t* labels, T* shares,
                  T* losses) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const T* const x = logits + i * rows.classes;
    T* const e = shares + i * rows.classes;
    const T top = *std::max_element(x, x + rows.classes);
    T total = 0;
    for (std::int64_t c = 0; c < rows.classes; ++c) {
      e[c] = std::exp(x[c] - top);
      total += e[c];
    }
    const T scale = 1 / total;
    for (std::int64_t c = 0; c < rows.classes; ++c) e[c] *= scale;
    losses[i] = labels[i] == kIgnoreIndex ? T{0} : std::log(total) - (x[labels[i]] - top);
  }
}

// grads = (shares - one at the label) * factor of the row.
template <typename T, typename Factor>
void backward_rows(const Rows& rows, const T* shares, const std::int64_t* labels, T* grads,
                   Factor&& factor) {
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const T scale = labels[i] == kIgnoreIndex ? T{0} : factor(i);
    const T* const from = shares + i * rows.classes;
    T* const to = grads + i * rows.classes;
    for (std::int64_t c = 0; c < rows.classes; ++c) to[c] = from[c] * scale;
    if (labels[i] != kIgnoreIndex) to[labels[i]] -= scale;
  }
}

struct CrossEntropy : Saves<2> {  // shares, labels
  static constexpr std::string_view kName = "NllLossBackward0";
  Rows rows;
  Reduction reduction = Reduction::kMean;
  std::int64_t counted = 0;

  void backward(const Node& node, const Tensor& grad, std::span<Tensor> grads) {
    const Tensor& shares = saved[0].get(node);
    grads[0] = Tensor::empty(shares.sizes(), shares.dtype());
    if (shares.dtype() == DType::kF32) {
      run<float>(node, grad, grads[0]);
    } else {
      run<double>(node, grad, grads[0]);
    }
  }
  template <typename T>
  void run(const Node& node, const Tensor& grad, const Tensor& into) const {
    const T* const shares = saved[0].get(node).template data<T>();
    const auto* const labels = saved[1].get(node).template data<std::int64_t>();
    if (reduction == Reduction::kNone) {
      const Tensor g = grad.contiguous();
      const T* const each = g.data<T>();
      backward_rows(rows, shares, labels, into.data<T>(),
                    [each](std::int64_t i) { return each[i]; });
    } else {
      const T all =
          *grad.data<T>() / (reduction == Reduction::kMean ? static_cast<T>(counted) : T{1});
      backward_rows(rows, shares, labels, into.data<T>(), [all](std::int64_t) { return all; });
    }
  }
};

void check_shapes(const Tensor& logits, const Tensor& labels) {
  if (logits.dim() != 2 || labels.dim() != 1 || logits.size(0) != labels.size(0) ||
      logits.size(1) < 1) {
    throw ShapeError(
        fmt::format("[nn.loss] cross entropy of logits {} and labels {}; give [n, classes] and [n]",
                    logits.sizes().str(), labels.sizes().str()));
  }
  const bool is_class = labels.dtype() == DType::kI64 || labels.dtype() == DType::kI32 ||
                        labels.dtype() == DType::kU8;
  if ((logits.dtype() != DType::kF32 && logits.dtype() != DType::kF64) || !is_class) {
    throw DTypeError(fmt::format(
        "[nn.loss] cross entropy of {} logits and {} labels; give float32 or float64, and int64",
        name_of(logits.dtype()), name_of(labels.dtype())));
  }
}

// How many rows count.
std::int64_t check_labels(const Tensor& labels, std::int64_t classes) {
  const auto* const label = labels.data<std::int64_t>();
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    if (label[i] == kIgnoreIndex) continue;
    if (label[i] < 0 || label[i] >= classes) {
      throw ContractError(
          fmt::format("[nn.loss] row {}: label {} is outside 0 to {}; the logits have {} classes, "
                      "so mend the label or widen the last layer",
                      i, label[i], classes - 1, classes));
    }
    ++counted;
  }
  return counted;
}

template <typename T>
Tensor reduce_losses(const Tensor& losses, Reduction reduction, std::int64_t counted) {
  if (reduction == Reduction::kNone) return losses;
  const T* const each = losses.data<T>();
  double total = 0;
  for (std::int64_t i = 0; i < losses.numel(); ++i) total += static_cast<double>(each[i]);
  if (reduction == Reduction::kMean) total /= static_cast<double>(counted);
  return Tensor::scalar(total, losses.dtype());
}

template <typename T>
Tensor cross_entropy_as(const Tensor& logits, const Tensor& labels, CrossEntropy& op) {
  Tensor shares = Tensor::empty(logits.sizes(), logits.dtype());
  Tensor losses = Tensor::empty(labels.sizes(), logits.dtype());
  forward_rows(op.rows, logits.data<T>(), labels.data<std::int64_t>(), shares.data<T>(),
               losses.data<T>());
  op.saved = {SavedTensor(shares), SavedTensor(labels)};
  return reduce_losses<T>(losses, op.reduction, op.counted);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, Reduction reduction) {
  check_shapes(logits, labels);
  const bool recorded = is_recorded(logits);
  const NoGrad no_grad;
  const Tensor x = logits.contiguous();
  const Tensor y = labels.to(DType::kI64).contiguous();
  CrossEntropy op;
  op.rows = {x.size(0), x.size(1)};
  op.reduction = reduction;
  op.counted = check_labels(y, x.size(1));
  Tensor loss = x.dtype() == DType::kF32 ? cross_entropy_as<float>(x, y, op)
                                         : cross_entropy_as<double>(x, y, op);
  if (!recorded) return loss;
  return record(std::move(loss), std::move(op), logits);
}

Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction) {
  if (!(a.sizes() == b.sizes())) {
    throw ShapeError(fmt::format("[nn.loss] MSE of {} and {}; give two of one shape",
                                 a.sizes().str(), b.sizes().str()));
  }
  const Tensor difference = sub(a, b);
  Tensor squares = mul(difference, difference);
  if (reduction == Reduction::kNone) return squares;
  return reduction == Reduction::kSum ? sum(squares) : mean(squares);
}

}  // namespace plab::nn
