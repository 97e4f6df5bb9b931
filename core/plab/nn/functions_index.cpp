// SPDX-License-Identifier: Apache-2.0
// Picking elements and joining tensors, recorded.
#include <array>

#include "plab/nn/functions.h"
#include "plab/nn/record.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

namespace {

using Grads = std::span<Tensor>;

// Calls `visit(position)` for every index of `shape`, row by row.
template <typename F>
void for_each_position(const Shape& shape, F&& visit) {
  Shape position = shape;
  for (auto& i : position) i = 0;
  const std::int64_t count = shape.numel();
  for (std::int64_t done = 0; done < count; ++done) {
    visit(position);
    for (std::size_t d = shape.dims(); d-- > 0;) {
      if (++position[d] < shape[d]) break;
      position[d] = 0;
    }
  }
}

std::int64_t offset_of(const Shape& position, const Shape& strides) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < position.dims(); ++d) offset += position[d] * strides[d];
  return offset;
}

// An index of int32 or int64, row-major, as int64.
Tensor as_index(const Tensor& index) { return index.to(DType::kI64).contiguous(); }

// out[..., index[p], ...] += grad[p]. The forward has checked every index.
template <typename T>
void scatter_add(const Tensor& out, std::size_t dim, const Tensor& index, const Tensor& grad) {
  const auto* const picks = index.data<std::int64_t>();
  const auto* const from = grad.data<T>();
  auto* const to = out.data<T>();
  const Shape strides = out.strides();
  const std::int64_t size = out.sizes()[dim];
  std::int64_t i = 0;
  for_each_position(index.sizes(), [&](Shape position) {
    const std::int64_t pick = picks[i];
    position[dim] = pick < 0 ? pick + size : pick;
    to[offset_of(position, strides)] += from[i++];
  });
}

// The dimensions before `dim`, it, and those after it: what a slice-wise loop needs.
struct Split {
  std::int64_t before = 1;
  std::int64_t after = 1;
};
Split split_at(const Shape& shape, std::size_t dim) {
  Split split;
  for (std::size_t d = 0; d < dim; ++d) split.before *= shape[d];
  for (std::size_t d = dim + 1; d < shape.dims(); ++d) split.after *= shape[d];
  return split;
}

// out[:, index[i], :] += grad[:, i, :]
template <typename T>
void add_slices(const Tensor& out, std::size_t dim, const Tensor& index, const Tensor& grad) {
  const auto [before, after] = split_at(out.sizes(), dim);
  const std::int64_t size = out.sizes()[dim];
  const std::int64_t picked = index.numel();
  const auto* const picks = index.data<std::int64_t>();
  for (std::int64_t b = 0; b < before; ++b) {
    for (std::int64_t i = 0; i < picked; ++i) {
      const std::int64_t pick = picks[i] < 0 ? picks[i] + size : picks[i];
      const T* const from = grad.data<T>() + (b * picked + i) * after;
      T* const to = out.data<T>() + (b * size + pick) * after;
      for (std::int64_t k = 0; k < after; ++k) to[k] += from[k];
    }
  }
}

struct Pick : Saves<1> {
  Shape shape;
  std::size_t dim = 0;
};

struct Gather : Pick {
  static constexpr std::string_view kName = "GatherBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor index = as_index(saved[0].get(node));
    const Tensor g = grad.contiguous();
    grads[0] = Tensor::zeros(shape, g.dtype());
    const auto run = g.dtype() == DType::kF32 ? scatter_add<float> : scatter_add<double>;
    run(grads[0], dim, index, g);
  }
};

struct IndexSelect : Pick {
  static constexpr std::string_view kName = "IndexSelectBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor index = as_index(saved[0].get(node));
    const Tensor g = grad.contiguous();
    grads[0] = Tensor::zeros(shape, g.dtype());
    const auto run = g.dtype() == DType::kF32 ? add_slices<float> : add_slices<double>;
    run(grads[0], dim, index, g);
  }
};

struct Cat : Saves<0> {
  static constexpr std::string_view kName = "CatBackward0";
  std::vector<std::int64_t> lengths;
  std::int64_t dim = 0;
  void backward(const Node& node, const Tensor& grad, Grads grads) const {
    std::int64_t start = 0;
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (node.needs(i)) grads[i] = grad.narrow(dim, start, lengths[i]);
      start += lengths[i];
    }
  }
};

struct Stack : Saves<0> {
  static constexpr std::string_view kName = "StackBackward0";
  std::int64_t dim = 0;
  void backward(const Node& node, const Tensor& grad, Grads grads) const {
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (node.needs(i)) grads[i] = grad.select(dim, static_cast<std::int64_t>(i));
    }
  }
};

template <typename Op>
Tensor record_pick(Tensor output, const Tensor& a, std::int64_t dim, const Tensor& index) {
  Op op;
  op.saved = {SavedTensor(index)};
  op.shape = a.sizes();
  op.dim = static_cast<std::size_t>(dim < 0 ? dim + a.dim() : dim);
  return record(std::move(output), std::move(op), a);
}

template <typename Op>
Tensor record_join(Tensor output, std::span<const Tensor> parts, Op op) {
  auto node = std::make_shared<OpNode<Op>>(parts.size(), output, std::move(op));
  for (std::size_t i = 0; i < parts.size(); ++i) node->set_edge(i, edge_of(parts[i]));
  attach(output, std::move(node));
  return output;
}

Tensor gather_recorded(const Tensor& a, std::int64_t dim, const Tensor& index) {
  const NoGrad no_grad;
  return record_pick<Gather>(gather(a, dim, index), a, dim, index);
}
Tensor index_select_recorded(const Tensor& a, std::int64_t dim, const Tensor& index) {
  const NoGrad no_grad;
  return record_pick<IndexSelect>(index_select(a, dim, index), a, dim, index);
}
Tensor cat_recorded(std::span<const Tensor> parts, std::int64_t dim) {
  const NoGrad no_grad;
  Tensor output = cat(parts, dim);
  Cat op;
  op.dim = dim;
  for (const Tensor& part : parts) op.lengths.push_back(part.size(dim));
  return record_join(std::move(output), parts, std::move(op));
}
Tensor stack_recorded(std::span<const Tensor> parts, std::int64_t dim) {
  const NoGrad no_grad;
  Tensor output = stack(parts, dim);
  Stack op;
  op.dim = dim < 0 ? dim + output.dim() : dim;
  return record_join(std::move(output), parts, op);
}

}  // namespace

void fill_indexing(AutogradTable& table) {
  table.gather = gather_recorded;
  table.index_select = index_select_recorded;
  table.cat = cat_recorded;
  table.stack = stack_recorded;
}

}  // namespace plab::nn
