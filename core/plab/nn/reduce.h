#pragma once
// SPDX-License-Identifier: Apache-2.0
// The way back through broadcasting.

#include <string_view>

#include "plab/tensor/tensor.h"

namespace plab::nn {

/// `gradient` summed over every dimension along which a tensor of `shape` was broadcast, so that
/// the result has that shape. @throws ShapeError naming `operation` when `shape` does not broadcast
/// to the gradient's
[[nodiscard]] Tensor sum_to(const Tensor& gradient, const Shape& shape, std::string_view operation);

}  // namespace plab::nn
