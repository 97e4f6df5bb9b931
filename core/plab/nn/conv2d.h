#pragma once
// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution by matrix products.

#include <array>
#include <cstdint>

#include "plab/tensor/tensor.h"

namespace plab::nn {

struct ConvGeometry {
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> padding{0, 0};
  std::array<std::int64_t, 2> dilation{1, 1};
  std::int64_t groups = 1;
};

/// torch.nn.functional.conv2d: input [n, in, h, w], weight [out, in/groups, kh, kw], bias [out] or
/// undefined; the result is [n, out, h', w'] with h' = (h + 2 padding - dilation (kh - 1) - 1) /
/// stride + 1. Recorded when an operand requires a gradient. Needs in/groups * kh * kw * h' * w'
/// elements of working memory.
/// @throws ShapeError naming both shapes when they do not fit or the result would be empty;
/// DTypeError when the dtypes differ or are not float32 or float64
[[nodiscard]] Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                            const ConvGeometry& geometry);

}  // namespace plab::nn
