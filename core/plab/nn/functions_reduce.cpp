// SPDX-License-Identifier: Apache-2.0
// Reductions, recorded.
#include "plab/nn/functions.h"
#include "plab/nn/record.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

namespace {

using Grads = std::span<Tensor>;

// The gradient of a reduction over `dim`, with that dimension back as size 1.
Tensor with_dim(const Tensor& grad, std::int64_t dim, bool keepdim) {
  return keepdim ? grad : grad.unsqueeze(dim);
}

// sum and mean: every element gets the gradient, times `factor`.
struct Spread : Saves<0> {
  static constexpr std::string_view kName = "SumBackward0";
  Shape shape;
  double factor = 1;
  void backward(const Node& /*node*/, const Tensor& grad, Grads grads) const {
    const Tensor scaled = factor == 1 ? grad : grad * factor;
    grads[0] = scaled.expand(shape);
  }
};
struct Mean : Spread {
  static constexpr std::string_view kName = "MeanBackward0";
};

struct SpreadDim : Saves<0> {
  static constexpr std::string_view kName = "SumBackward1";
  Shape shape;
  double factor = 1;
  std::int64_t dim = 0;
  bool keepdim = false;
  void backward(const Node& /*node*/, const Tensor& grad, Grads grads) const {
    const Tensor scaled = factor == 1 ? grad : grad * factor;
    grads[0] = with_dim(scaled, dim, keepdim).expand(shape);
  }
};
struct MeanDim : SpreadDim {
  static constexpr std::string_view kName = "MeanBackward1";
};

// The greatest (or least) elements share the gradient evenly, as in PyTorch.
struct Extreme : Saves<2> {
  static constexpr std::string_view kName = "MaxBackward1";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor chosen = eq(saved[0].get(node), saved[1].get(node)).to(grad.dtype());
    grads[0] = mul(chosen, div(grad, sum(chosen)));
  }
};
struct Min : Extreme {
  static constexpr std::string_view kName = "MinBackward1";
};

// A dimension counted from the front, for a tensor that is known to have it.
std::int64_t from_front(std::int64_t dim, const Tensor& a) {
  return dim < 0 && a.dim() > 0 ? dim + a.dim() : dim;
}

// Over one dimension; a scalar has none, and is its own sum.
template <typename Op>
Tensor record_dim(Tensor output, const Tensor& a, Op op, std::int64_t dim) {
  op.shape = a.sizes();
  op.dim = from_front(dim, a);
  op.keepdim = op.keepdim || a.dim() == 0;
  return record(std::move(output), std::move(op), a);
}

Tensor sum_recorded(const Tensor& a) {
  const NoGrad no_grad;
  return record(sum(a), Spread{{}, a.sizes()}, a);
}
Tensor mean_recorded(const Tensor& a) {
  const NoGrad no_grad;
  return record(mean(a), Mean{{{}, a.sizes(), 1.0 / static_cast<double>(a.numel())}}, a);
}
Tensor sum_dim_recorded(const Tensor& a, std::int64_t dim, bool keepdim) {
  const NoGrad no_grad;
  SpreadDim op;
  op.keepdim = keepdim;
  return record_dim(sum(a, dim, keepdim), a, op, dim);
}
Tensor mean_dim_recorded(const Tensor& a, std::int64_t dim, bool keepdim) {
  const NoGrad no_grad;
  Tensor output = mean(a, dim, keepdim);
  MeanDim op;
  op.keepdim = keepdim;
  op.factor = a.dim() == 0 ? 1 : 1.0 / static_cast<double>(a.size(dim));
  return record_dim(std::move(output), a, op, dim);
}
template <typename Op, typename F>
Tensor extreme_recorded(const Tensor& a, F&& reduce) {
  const NoGrad no_grad;
  Tensor output = reduce(a);
  Op op;
  op.saved = {SavedTensor(a), save_result(output)};
  return record(std::move(output), std::move(op), a);
}

}  // namespace

void fill_reductions(AutogradTable& table) {
  table.sum = sum_recorded;
  table.mean = mean_recorded;
  table.sum_dim = sum_dim_recorded;
  table.mean_dim = mean_dim_recorded;
  table.max = [](const Tensor& a) {
    return extreme_recorded<Extreme>(a, [](const Tensor& t) { return max(t); });
  };
  table.min = [](const Tensor& a) {
    return extreme_recorded<Min>(a, [](const Tensor& t) { return min(t); });
  };
}

}  // namespace plab::nn
