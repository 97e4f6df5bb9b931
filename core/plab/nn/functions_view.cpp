// SPDX-License-Identifier: Apache-2.0
// Views and copies, recorded.
#include "plab/nn/functions.h"
#include "plab/nn/record.h"

namespace plab::nn {

namespace {

using Grads = std::span<Tensor>;

// The same elements in the same order: the gradient takes the input's shape.
struct View : Saves<0> {
  static constexpr std::string_view kName = "ViewBackward0";
  Shape shape;
  void backward(const Node& /*node*/, const Tensor& grad, Grads grads) const {
    grads[0] = grad.reshape(shape);
  }
};
struct Reshape : View {
  static constexpr std::string_view kName = "ReshapeAliasBackward0";
};
struct Squeeze : View {
  static constexpr std::string_view kName = "SqueezeBackward1";
};
struct Unsqueeze : View {
  static constexpr std::string_view kName = "UnsqueezeBackward0";
};

// A part of the input: zero outside it.
struct Slice : Saves<0> {
  static constexpr std::string_view kName = "SliceBackward0";
  Shape shape;
  std::int64_t dim = 0, start = 0, end = 0, step = 1;
  void backward(const Node& /*node*/, const Tensor& grad, Grads grads) const {
    grads[0] = Tensor::zeros(shape, grad.dtype());
    grads[0].slice(dim, start, end, step).copy_(grad);
  }
};
struct Select : Saves<0> {
  static constexpr std::string_view kName = "SelectBackward0";
  Shape shape;
  std::int64_t dim = 0, index = 0;
  void backward(const Node& /*node*/, const Tensor& grad, Grads grads) const {
    grads[0] = Tensor::zeros(shape, grad.dtype());
    grads[0].select(dim, index).copy_(grad);
  }
};

struct Transpose : Saves<0> {
  static constexpr std::string_view kName = "TransposeBackward0";
  std::int64_t dim0 = 0, dim1 = 1;
  void backward(const Node& /*node*/, const Tensor& grad, Grads grads) const {
    grads[0] = grad.transpose(dim0, dim1);
  }
};
struct Permute : Saves<0> {
  static constexpr std::string_view kName = "PermuteBackward0";
  Shape back;
  void backward(const Node& /*node*/, const Tensor& grad, Grads grads) const {
    grads[0] = grad.permute(back);
  }
};

// The gradient passes as it is: the engine sums what was expanded and converts the dtype.
struct Expand : Saves<0> {
  static constexpr std::string_view kName = "ExpandBackward0";
  static void backward(const Node& /*node*/, const Tensor& grad, Grads grads) { grads[0] = grad; }
};
struct Clone : Expand {
  static constexpr std::string_view kName = "CloneBackward0";
};
struct To : Expand {
  static constexpr std::string_view kName = "ToCopyBackward0";
};

Tensor view_recorded(const Tensor& a, const Shape& shape) {
  const NoGrad no_grad;
  return record(a.view(shape), View{{}, a.sizes()}, a);
}
// reshape() may return `a` itself; a result needs a tensor of its own to carry its history.
Tensor reshape_recorded(const Tensor& a, const Shape& shape) {
  const NoGrad no_grad;
  Tensor output = a.reshape(shape);
  if (output.is_same(a)) output = a.detach();
  return record(std::move(output), Reshape{{{}, a.sizes()}}, a);
}
Tensor slice_recorded(const Tensor& a, std::int64_t dim, std::int64_t start, std::int64_t end,
                      std::int64_t step) {
  const NoGrad no_grad;
  return record(a.slice(dim, start, end, step), Slice{{}, a.sizes(), dim, start, end, step}, a);
}
Tensor select_recorded(const Tensor& a, std::int64_t dim, std::int64_t index) {
  const NoGrad no_grad;
  return record(a.select(dim, index), Select{{}, a.sizes(), dim, index}, a);
}
Tensor transpose_recorded(const Tensor& a, std::int64_t dim0, std::int64_t dim1) {
  const NoGrad no_grad;
  return record(a.transpose(dim0, dim1), Transpose{{}, dim0, dim1}, a);
}
Tensor permute_recorded(const Tensor& a, const Shape& dims) {
  const NoGrad no_grad;
  Tensor output = a.permute(dims);
  Shape back = dims;
  for (std::size_t i = 0; i < dims.dims(); ++i) {
    const std::int64_t d = dims[i] < 0 ? dims[i] + a.dim() : dims[i];
    back[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(i);
  }
  return record(std::move(output), Permute{{}, back}, a);
}
Tensor expand_recorded(const Tensor& a, const Shape& shape) {
  const NoGrad no_grad;
  return record(a.expand(shape), Expand{}, a);
}
Tensor squeeze_recorded(const Tensor& a, std::int64_t dim) {
  const NoGrad no_grad;
  Tensor output = a.squeeze(dim);
  if (output.is_same(a)) output = a.detach();
  return record(std::move(output), Squeeze{{{}, a.sizes()}}, a);
}
Tensor unsqueeze_recorded(const Tensor& a, std::int64_t dim) {
  const NoGrad no_grad;
  return record(a.unsqueeze(dim), Unsqueeze{{{}, a.sizes()}}, a);
}
Tensor clone_recorded(const Tensor& a) {
  const NoGrad no_grad;
  return record(a.clone(), Clone{}, a);
}
// Nothing is recorded for an integer result, and a conversion to the same dtype is no operation.
Tensor to_recorded(const Tensor& a, DType dtype) {
  const NoGrad no_grad;
  Tensor output = a.to(dtype);
  if (output.is_same(a) || !is_floating(dtype)) return output;
  return record(std::move(output), To{}, a);
}

}  // namespace

void fill_views(AutogradTable& table) {
  table.view = view_recorded;
  table.reshape = reshape_recorded;
  table.slice = slice_recorded;
  table.select = select_recorded;
  table.transpose = transpose_recorded;
  table.permute = permute_recorded;
  table.expand = expand_recorded;
  table.squeeze = squeeze_recorded;
  table.unsqueeze = unsqueeze_recorded;
  table.clone = clone_recorded;
  table.to = to_recorded;
}

}  // namespace plab::nn
