#pragma once
// SPDX-License-Identifier: Apache-2.0
// Walks over tensors of one shape and any strides, row by row. Internal to the layer.

#include <array>
#include <cstdint>

#include "plab/tensor/shape.h"

namespace plab::detail {

/// The strides with which a tensor is read as if it had the shape `out`: 0 where it broadcasts.
[[nodiscard]] inline Shape broadcast_strides(const Shape& sizes, const Shape& strides,
                                             const Shape& out) {
  Shape result = out;
  const std::size_t extra = out.dims() - sizes.dims();
  for (std::size_t i = 0; i < out.dims(); ++i) {
    const bool repeats = i < extra || (sizes[i - extra] == 1 && out[i] != 1);
    result[i] = repeats ? 0 : strides[i - extra];
  }
  return result;
}

/// Where one operand stands: element offset of the row's first element, and the step to the next.
struct RowOf {
  std::int64_t offset = 0;
  std::int64_t step = 0;
};

/// A shape and the strides of N operands, with dimensions of size 1 dropped and neighbours merged
/// where every operand runs through them in one step. So contiguous tensors become one row.
template <std::size_t N>
class Nest {
 public:
  Nest(const Shape& sizes, const std::array<Shape, N>& strides) {
    for (std::size_t d = 0; d < sizes.dims(); ++d) {
      if (sizes[d] == 0) empty_ = true;
      if (sizes[d] != 1) push(sizes[d], strides, d);
    }
    if (dims_ == 0) {
      size_[0] = 1;
      dims_ = 1;
    }
  }

  /// body(n, rows): rows is an array of N RowOf. Rows come in row-major order.
  template <typename Body>
  void for_each_row(Body&& body) const {
    if (empty_) return;
    const std::size_t last = dims_ - 1;
    std::array<RowOf, N> rows{};
    for (std::size_t k = 0; k < N; ++k) rows[k].step = step_[k][last];
    std::array<std::int64_t, Shape::kMaxDims> index{};
    while (true) {
      body(size_[last], rows);
      std::size_t d = last;
      while (d > 0 && ++index[d - 1] == size_[d - 1]) {
        --d;
        index[d] = 0;
        for (std::size_t k = 0; k < N; ++k) rows[k].offset -= (size_[d] - 1) * step_[k][d];
      }
      if (d == 0) return;
      for (std::size_t k = 0; k < N; ++k) rows[k].offset += step_[k][d - 1];
    }
  }

 private:
  void push(std::int64_t size, const std::array<Shape, N>& strides, std::size_t d) {
    bool merges = dims_ > 0;
    for (std::size_t k = 0; merges && k < N; ++k) {
      merges = step_[k][dims_ - 1] == strides[k][d] * size;
    }
    if (merges) {
      size_[dims_ - 1] *= size;
    } else {
      size_[dims_++] = size;
    }
    for (std::size_t k = 0; k < N; ++k) step_[k][dims_ - 1] = strides[k][d];
  }

  std::array<std::int64_t, Shape::kMaxDims> size_{};
  std::array<std::array<std::int64_t, Shape::kMaxDims>, N> step_{};
  std::size_t dims_ = 0;
  bool empty_ = false;
};

}  // namespace plab::detail
