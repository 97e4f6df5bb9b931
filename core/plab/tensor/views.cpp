// SPDX-License-Identifier: Apache-2.0
// Views: new sizes and strides on the same storage.
#include <algorithm>

#include "plab/tensor/tensor_impl.h"

namespace plab {

using detail::recorder;
using detail::TensorAccess;
using detail::wrap_dim;

namespace {

// `shape` with its -1 filled in for `tensor`.
Shape resolve(const Tensor& tensor, Shape shape, std::string_view operation) {
  const auto refuse = [&](std::string_view problem) {
    throw ShapeError(fmt::format("[tensor.{}] shape {} for a tensor {} of {} elements: {}",
                                 operation, shape.str(), detail::describe(tensor), tensor.numel(),
                                 problem));
  };
  std::int64_t* unknown = nullptr;
  Shape known = shape;
  for (std::size_t i = 0; i < shape.dims(); ++i) {
    if (shape[i] < -1) refuse("sizes are 0 or more, and one may be -1");
    if (shape[i] != -1) continue;
    if (unknown != nullptr) refuse("only one size may be -1");
    unknown = &shape[i];
    known[i] = 1;
  }
  const std::int64_t product = known.numel();
  if (unknown != nullptr) {
    if (product == 0) refuse("-1 is ambiguous when another size is 0");
    if (tensor.numel() % product != 0) refuse("the number of elements must agree");
    *unknown = tensor.numel() / product;
  } else if (product != tensor.numel()) {
    refuse("the number of elements must agree");
  }
  return shape;
}

// The strides that give `shape` without a copy, or nothing. Runs of dimensions that lie one after
// another in memory (a run) may be split anew; the borders between runs must stay.
std::optional<Shape> view_strides(const Shape& sizes, const Shape& strides, const Shape& shape) {
  Shape out = shape.contiguous_strides();
  auto next = static_cast<std::ptrdiff_t>(shape.dims()) - 1;
  std::int64_t run = 1;
  std::int64_t filled = 1;
  std::int64_t base = sizes.dims() == 0 ? 1 : strides[sizes.dims() - 1];
  for (auto i = static_cast<std::ptrdiff_t>(sizes.dims()) - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    run *= sizes[at];
    const bool ends = i == 0 || (sizes[at - 1] != 1 && strides[at - 1] != run * base);
    if (!ends) continue;
    while (next >= 0 && (filled < run || shape[static_cast<std::size_t>(next)] == 1)) {
      out[static_cast<std::size_t>(next)] = filled * base;
      filled *= shape[static_cast<std::size_t>(next)];
      --next;
    }
    if (filled != run) return std::nullopt;
    if (i > 0) {
      base = strides[at - 1];
      run = filled = 1;
    }
  }
  if (next >= 0) return std::nullopt;
  return out;
}

std::optional<Tensor> try_view(const Tensor& tensor, const Shape& shape) {
  if (tensor.is_contiguous()) {
    return TensorAccess::view(tensor, shape, shape.contiguous_strides(), tensor.storage_offset());
  }
  const auto strides = view_strides(tensor.sizes(), tensor.strides(), shape);
  if (!strides) return std::nullopt;
  return TensorAccess::view(tensor, shape, *strides, tensor.storage_offset());
}

void refuse_scalar(const Tensor& tensor, std::string_view operation) {
  if (tensor.dim() == 0) {
    throw ShapeError(fmt::format("[tensor.{}] a scalar has no dimension to take from", operation));
  }
}

}  // namespace

Tensor Tensor::view(const Shape& shape) const {
  if (is_recorded(*this)) return recorder(&AutogradTable::view, "view")(*this, shape);
  const auto out = try_view(*this, resolve(*this, shape, "view"));
  if (!out) {
    throw ShapeError(fmt::format(
        "[tensor.view] shape {} cannot be laid over a tensor {} with strides {} without a copy; "
        "use reshape()",
        shape.str(), detail::describe(*this), strides().str()));
  }
  return *out;
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (is_recorded(*this)) return recorder(&AutogradTable::reshape, "reshape")(*this, shape);
  const Shape full = resolve(*this, shape, "reshape");
  if (auto out = try_view(*this, full)) return *std::move(out);
  return *try_view(clone(), full);
}

Tensor Tensor::flatten(std::int64_t start_dim) const {
  const std::size_t start = wrap_dim(start_dim, sizes().dims(), "flatten");
  Shape shape;
  std::int64_t rest = 1;
  for (std::size_t i = 0; i < sizes().dims(); ++i) {
    if (i < start) {
      shape.push_back(sizes()[i]);
    } else {
      rest *= sizes()[i];
    }
  }
  shape.push_back(rest);
  return reshape(shape);
}

Tensor Tensor::slice(std::int64_t dim, std::int64_t start, std::int64_t end,
                     std::int64_t step) const {
  if (is_recorded(*this)) {
    return recorder(&AutogradTable::slice, "slice")(*this, dim, start, end, step);
  }
  refuse_scalar(*this, "slice");
  const std::size_t d = wrap_dim(dim, sizes().dims(), "slice");
  if (step < 1) {
    throw ShapeError(fmt::format("[tensor.slice] step {} is not valid; it is 1 or more", step));
  }
  const std::int64_t size = sizes()[d];
  const auto clamp = [size](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const std::int64_t from = clamp(start);
  const std::int64_t to = std::max(from, clamp(end));
  Shape shape = sizes();
  Shape steps = strides();
  shape[d] = (to - from) / step + ((to - from) % step != 0 ? 1 : 0);
  if (shape[d] > 1) steps[d] *= step;  // otherwise unused, and step may be huge
  return TensorAccess::view(*this, shape, steps, storage_offset() + from * strides()[d]);
}

Tensor Tensor::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  refuse_scalar(*this, "narrow");
  const std::int64_t size = sizes()[wrap_dim(dim, sizes().dims(), "narrow")];
  const std::int64_t from = start < 0 ? start + size : start;
  if (length < 0 || from < 0 || from > size || length > size - from) {
    throw ShapeError(
        fmt::format("[tensor.narrow] start {} and length {} reach outside dimension {} of size {}",
                    start, length, dim, size));
  }
  return slice(dim, from, from + length);
}

Tensor Tensor::select(std::int64_t dim, std::int64_t index) const {
  if (is_recorded(*this)) return recorder(&AutogradTable::select, "select")(*this, dim, index);
  refuse_scalar(*this, "select");
  const std::size_t d = wrap_dim(dim, sizes().dims(), "select");
  const std::int64_t size = sizes()[d];
  if (index < -size || index >= size) {
    throw ShapeError(fmt::format("[tensor.select] index {} in dimension {} of size {} of {}", index,
                                 d, size, detail::describe(*this)));
  }
  Shape shape = sizes();
  Shape steps = strides();
  const std::int64_t at = storage_offset() + (index < 0 ? index + size : index) * steps[d];
  shape.erase(d);
  steps.erase(d);
  return TensorAccess::view(*this, shape, steps, at);
}

Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1) const {
  if (is_recorded(*this)) {
    return recorder(&AutogradTable::transpose, "transpose")(*this, dim0, dim1);
  }
  const std::size_t a = wrap_dim(dim0, sizes().dims(), "transpose");
  const std::size_t b = wrap_dim(dim1, sizes().dims(), "transpose");
  Shape shape = sizes();
  Shape steps = strides();
  std::swap(shape[a], shape[b]);
  std::swap(steps[a], steps[b]);
  return TensorAccess::view(*this, shape, steps, storage_offset());
}

Tensor Tensor::t() const {
  if (dim() > 2) {
    throw ShapeError(fmt::format("[tensor.t] t() takes at most 2 dimensions, not {}; use transpose",
                                 detail::describe(*this)));
  }
  return dim() == 2 ? transpose(0, 1) : *this;
}

Tensor Tensor::permute(const Shape& dims) const {
  if (is_recorded(*this)) return recorder(&AutogradTable::permute, "permute")(*this, dims);
  const std::size_t count = sizes().dims();
  Shape shape = sizes();
  Shape steps = strides();
  std::array<bool, Shape::kMaxDims> seen{};
  bool bad = dims.dims() != count;
  for (std::size_t i = 0; i < count && !bad; ++i) {
    const std::size_t from = wrap_dim(dims[i], count, "permute");
    bad = seen[from];
    seen[from] = true;
    shape[i] = sizes()[from];
    steps[i] = strides()[from];
  }
  if (bad) {
    throw ShapeError(fmt::format(
        "[tensor.permute] dimensions {} for a tensor {}; name each of its {} dimensions once",
        dims.str(), detail::describe(*this), count));
  }
  return TensorAccess::view(*this, shape, steps, storage_offset());
}

Tensor Tensor::expand(const Shape& shape) const {
  if (is_recorded(*this)) return recorder(&AutogradTable::expand, "expand")(*this, shape);
  const std::size_t count = sizes().dims();
  const auto refuse = [&] {
    throw ShapeError(fmt::format(
        "[tensor.expand] a tensor {} does not expand to {}; new dimensions go in front, and only "
        "sizes of 1 grow (-1 keeps a size)",
        detail::describe(*this), shape.str()));
  };
  if (shape.dims() < count) refuse();
  const std::size_t extra = shape.dims() - count;
  Shape out = shape;
  Shape steps = shape;
  for (std::size_t i = 0; i < shape.dims(); ++i) {
    const bool is_new = i < extra;
    if (is_new && shape[i] < 0) refuse();
    const std::int64_t old = is_new ? 1 : sizes()[i - extra];
    if (shape[i] == -1) out[i] = old;
    if (out[i] != old && (old != 1 || out[i] < 0)) refuse();
    steps[i] = is_new || out[i] != old ? 0 : strides()[i - extra];
  }
  return TensorAccess::view(*this, out, steps, storage_offset());
}

Tensor Tensor::squeeze(std::int64_t dim) const {
  if (is_recorded(*this)) return recorder(&AutogradTable::squeeze, "squeeze")(*this, dim);
  const std::size_t d = wrap_dim(dim, sizes().dims(), "squeeze");
  Shape shape = sizes();
  Shape steps = strides();
  if (shape.dims() > 0 && shape[d] == 1) {
    shape.erase(d);
    steps.erase(d);
  }
  return TensorAccess::view(*this, shape, steps, storage_offset());
}

Tensor Tensor::unsqueeze(std::int64_t dim) const {
  if (is_recorded(*this)) return recorder(&AutogradTable::unsqueeze, "unsqueeze")(*this, dim);
  const std::size_t d = wrap_dim(dim, sizes().dims() + 1, "unsqueeze");
  Shape shape = sizes();
  Shape steps = strides();
  const std::int64_t step = d < sizes().dims() ? sizes()[d] * strides()[d] : 1;
  shape.insert(d, 1);
  steps.insert(d, step);
  return TensorAccess::view(*this, shape, steps, storage_offset());
}

}  // namespace plab
