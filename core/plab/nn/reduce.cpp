// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/reduce.h"

#include <fmt/format.h>

#include "plab/base/error.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

Tensor sum_to(const Tensor& gradient, const Shape& shape, std::string_view operation) {
  Tensor result = gradient;
  while (result.sizes().dims() > shape.dims()) result = sum(result, 0);
  const bool same_rank = result.sizes().dims() == shape.dims();
  for (std::size_t i = 0; same_rank && i < shape.dims(); ++i) {
    if (shape[i] == 1 && result.sizes()[i] != 1) {
      result = sum(result, static_cast<std::int64_t>(i), true);
    }
  }
  if (!(result.sizes() == shape)) {
    throw ShapeError(fmt::format(
        "[nn.engine] {} needs a gradient of shape {}, but got one of {}; it must have the shape of "
        "the tensor, or one that the tensor broadcasts to",
        operation, shape.str(), gradient.sizes().str()));
  }
  return result;
}

}  // namespace plab::nn
