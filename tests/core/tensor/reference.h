#pragma once
// SPDX-License-Identifier: Apache-2.0
// Slow and plain counterparts: tensors of random shapes and strides, and loops over index lists.

#include <cstdint>
#include <vector>

#include "plab/tensor/ops.h"
#include "plab/tensor/random.h"

namespace plab::test {

using Index = std::vector<std::int64_t>;

inline Shape shape_of(const Index& index) { return Shape(std::span<const std::int64_t>(index)); }

/// Calls body(index) for every element of a shape, row by row.
template <typename Body>
void for_each_index(const Shape& shape, Body body) {
  if (shape.numel() == 0) return;
  Index index(shape.dims(), 0);
  while (true) {
    body(index);
    std::size_t d = shape.dims();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

/// The element of `t` that broadcasts to `index`.
template <typename T>
T pick(const Tensor& t, const Index& index) {
  const std::size_t extra = index.size() - t.sizes().dims();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < t.sizes().dims(); ++i) {
    offset += (t.sizes()[i] == 1 ? 0 : index[i + extra]) * t.strides()[i];
  }
  return t.data<T>()[offset];
}

inline std::int64_t below(Generator& g, std::int64_t bound) {
  return static_cast<std::int64_t>(g.next_below(static_cast<std::uint64_t>(bound)));
}

/// Zero to `most` dimensions of zero to five; mostly not empty.
inline Shape random_shape(Generator& g, std::int64_t most = 4) {
  Shape shape;
  const std::int64_t dims = below(g, most + 1);
  for (std::int64_t i = 0; i < dims; ++i) {
    shape.push_back(below(g, 40) == 0 ? 0 : 1 + below(g, 5));
  }
  return shape;
}

/// Values that fit every dtype, distinct enough to tell places apart.
inline Tensor random_values(Generator& g, const Shape& shape, DType dtype) {
  if (is_floating(dtype)) return Tensor::randn(shape, g, dtype);
  if (dtype == DType::kBool) return Tensor::randint(0, 2, shape, g, dtype);
  return Tensor::randint(dtype == DType::kU8 ? 0 : -100, 100, shape, g, dtype);
}

/// A tensor of these sizes whose strides and offset are random: a permuted part of a larger one.
inline Tensor random_view(Generator& g, const Shape& shape, DType dtype) {
  if (below(g, 3) == 0) return random_values(g, shape, dtype);
  const std::size_t dims = shape.dims();
  std::vector<std::size_t> order(dims);
  for (std::size_t i = 0; i < dims; ++i) order[i] = i;
  for (std::size_t i = dims; i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(below(g, static_cast<std::int64_t>(i)))]);
  }
  Shape big;
  Shape step;
  Shape start;
  Shape back = shape;
  for (std::size_t i = 0; i < dims; ++i) {
    step.push_back(1 + below(g, 3));
    start.push_back(below(g, 3));
    big.push_back(start[i] + shape[order[i]] * step[i] + below(g, 2));
    back[order[i]] = static_cast<std::int64_t>(i);
  }
  Tensor out = random_values(g, big, dtype);
  for (std::size_t i = 0; i < dims; ++i) {
    out = out.slice(static_cast<std::int64_t>(i), start[i], start[i] + shape[order[i]] * step[i],
                    step[i]);
  }
  return out.permute(back);
}

/// A shape that broadcasts to `shape`.
inline Shape shrunk(Generator& g, const Shape& shape) {
  Shape out = shape;
  while (out.dims() > 0 && below(g, 3) == 0) out.erase(0);
  for (auto& size : out) {
    if (below(g, 3) == 0) size = 1;
  }
  return out;
}

}  // namespace plab::test
