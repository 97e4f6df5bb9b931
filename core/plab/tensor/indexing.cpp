// SPDX-License-Identifier: Apache-2.0
// gather, index_select, cat and stack.
#include <algorithm>
#include <cstring>

#include "plab/tensor/elementwise.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

using detail::recorder;

namespace {

void check_index_dtype(const Tensor& index, std::string_view operation) {
  if (index.dtype() != DType::kI64) {
    throw DTypeError(fmt::format("[tensor.{}] the index is {}; it must be int64", operation,
                                 detail::describe(index)));
  }
}

[[noreturn]] void throw_outside(std::int64_t index, std::int64_t size, std::size_t dim,
                                std::string_view operation) {
  throw ShapeError(
      fmt::format("[tensor.{}] index {} is out of bounds for dimension {} of size {}; valid are 0 "
                  "to {}",
                  operation, index, dim, size, size - 1));
}

// Whole numbers of 1, 2, 4 and 8 bytes stand for every dtype of that size.
template <typename Body>
void visit_size(std::size_t size, Body&& body) {
  switch (size) {
    case 1:
      return body.template operator()<std::uint8_t>();
    case 2:
      return body.template operator()<std::uint16_t>();
    case 4:
      return body.template operator()<std::uint32_t>();
    default:
      return body.template operator()<std::uint64_t>();
  }
}

void check_gather(const Tensor& a, std::size_t dim, const Tensor& index) {
  check_index_dtype(index, "gather");
  bool fits = a.dim() == index.dim();
  for (std::size_t i = 0; fits && i < a.sizes().dims(); ++i) {
    fits = i == dim || index.sizes()[i] <= a.sizes()[i];
  }
  if (!fits) {
    throw ShapeError(fmt::format(
        "[tensor.gather] index {} for a tensor {} along dimension {}; it has as many dimensions, "
        "and is no larger in any other than that one",
        detail::describe(index), detail::describe(a), dim));
  }
}

// Offset in `a` of the element that stands at the place of `position` with 0 in dimension `dim`.
std::int64_t base_of(const Shape& position, const Shape& strides, std::size_t dim) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < position.dims(); ++i) {
    if (i != dim) offset += position[i] * strides[i];
  }
  return offset;
}

void step(Shape& position, const Shape& sizes) {
  for (std::size_t i = position.dims(); i-- > 0;) {
    if (++position[i] < sizes[i]) return;
    position[i] = 0;
  }
}

Shape joined_shape(std::span<const Tensor> parts, std::size_t dim) {
  Shape shape = parts[0].sizes();
  for (std::size_t p = 1; p < parts.size(); ++p) {
    const Shape& other = parts[p].sizes();
    bool fits = other.dims() == shape.dims();
    for (std::size_t i = 0; fits && i < shape.dims(); ++i) {
      fits = i == dim || shape[i] == other[i];
    }
    if (!fits) {
      throw ShapeError(fmt::format(
          "[tensor.cat] part 0 is {}, part {} is {}; all sizes but that of dimension {} must agree",
          detail::describe(parts[0]), p, detail::describe(parts[p]), dim));
    }
    shape[dim] += other[dim];
  }
  return shape;
}

bool any_recorded(std::span<const Tensor> parts) noexcept {
  return grad_enabled() &&
         std::ranges::any_of(parts, [](const Tensor& t) { return t.requires_grad(); });
}

void check_parts(std::span<const Tensor> parts, std::string_view operation) {
  if (parts.empty()) {
    throw ContractError(fmt::format("[tensor.{}] no tensors; give at least one", operation));
  }
  for (const Tensor& part : parts) static_cast<void>(part.sizes());
}

}  // namespace

Tensor gather(const Tensor& a, std::int64_t dim, const Tensor& index) {
  if (is_recorded(a)) return recorder(&AutogradTable::gather, "gather")(a, dim, index);
  const std::size_t d = detail::wrap_dim(dim, a.sizes().dims(), "gather");
  check_gather(a, d, index);
  Tensor out = Tensor::empty(index.sizes(), a.dtype());
  const Tensor places = detail::dense(index);
  const std::int64_t* const place = places.data<std::int64_t>();
  const std::int64_t size = a.dim() == 0 ? 1 : a.sizes()[d];
  const std::int64_t stride = a.dim() == 0 ? 0 : a.strides()[d];
  visit_size(item_size(a.dtype()), [&]<typename T>() {
    const auto* const from = static_cast<const T*>(a.raw_data());
    auto* const to = static_cast<T*>(out.raw_data());
    Shape position = index.sizes();
    std::ranges::fill(position, 0);
    for (std::int64_t i = 0; i < out.numel(); ++i, step(position, index.sizes())) {
      if (place[i] < 0 || place[i] >= size) throw_outside(place[i], size, d, "gather");
      to[i] = from[base_of(position, a.strides(), d) + place[i] * stride];
    }
  });
  return out;
}

Tensor index_select(const Tensor& a, std::int64_t dim, const Tensor& index) {
  if (is_recorded(a)) return recorder(&AutogradTable::index_select, "index_select")(a, dim, index);
  check_index_dtype(index, "index_select");
  if (index.dim() != 1 || a.dim() == 0) {
    throw ShapeError(fmt::format(
        "[tensor.index_select] index {} for a tensor {}; the index has one dimension, the tensor "
        "one or more",
        detail::describe(index), detail::describe(a)));
  }
  const std::size_t d = detail::wrap_dim(dim, a.sizes().dims(), "index_select");
  const Tensor dense = detail::dense(a);
  const Tensor places = detail::dense(index);
  const std::int64_t* const place = places.data<std::int64_t>();
  const std::int64_t count = places.numel();
  const std::int64_t size = a.sizes()[d];
  for (std::int64_t i = 0; i < count; ++i) {
    if (place[i] < 0 || place[i] >= size) throw_outside(place[i], size, d, "index_select");
  }
  Shape shape = a.sizes();
  shape[d] = count;
  Tensor out = Tensor::empty(shape, a.dtype());
  if (out.numel() == 0) return out;
  const std::size_t run = static_cast<std::size_t>(dense.strides()[d]) * item_size(a.dtype());
  const auto* const from = static_cast<const std::byte*>(dense.raw_data());
  auto* to = static_cast<std::byte*>(out.raw_data());
  const std::int64_t outer = a.numel() / (size * dense.strides()[d]);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i, to += run) {
      std::memcpy(to, from + static_cast<std::size_t>(o * size + place[i]) * run, run);
    }
  }
  return out;
}

Tensor cat(std::span<const Tensor> parts, std::int64_t dim) {
  if (any_recorded(parts)) return recorder(&AutogradTable::cat, "cat")(parts, dim);
  check_parts(parts, "cat");
  DType dtype = parts[0].dtype();
  for (const Tensor& part : parts) dtype = promote(dtype, part.dtype());
  // a 1-d tensor without elements joins anything, as in PyTorch
  std::vector<Tensor> joined(parts.begin(), parts.end());
  std::erase_if(joined, [](const Tensor& part) { return part.sizes() == Shape{0}; });
  if (joined.empty()) joined.push_back(parts[0]);
  if (joined[0].dim() == 0) {
    throw ShapeError("[tensor.cat] a scalar has no dimension to join along; use stack()");
  }
  const std::size_t d = detail::wrap_dim(dim, joined[0].sizes().dims(), "cat");
  const Shape shape = joined_shape(joined, d);
  Tensor out = Tensor::empty(shape, dtype);
  std::int64_t at = 0;
  for (const Tensor& part : joined) {
    const std::int64_t size = part.sizes()[d];
    detail::copy_elements(out.slice(static_cast<std::int64_t>(d), at, at + size), part);
    at += size;
  }
  return out;
}

Tensor stack(std::span<const Tensor> parts, std::int64_t dim) {
  if (any_recorded(parts)) return recorder(&AutogradTable::stack, "stack")(parts, dim);
  check_parts(parts, "stack");
  std::vector<Tensor> rows;
  rows.reserve(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].sizes() != parts[0].sizes()) {
      throw ShapeError(fmt::format("[tensor.stack] part 0 is {}, part {} is {}; all must agree",
                                   detail::describe(parts[0]), p, detail::describe(parts[p])));
    }
    rows.push_back(parts[p].unsqueeze(dim));
  }
  return cat(rows, dim);  // dim of the new dimension, so negative ones agree
}

}  // namespace plab
