// SPDX-License-Identifier: Apache-2.0
// Whether two whole tensors are the same, or nearly.
#include <cmath>

#include "plab/tensor/ops.h"
#include "plab/tensor/strided.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

bool equal(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  if (a.numel() == 0) return true;
  bool same = true;
  const detail::Nest<2> nest(a.sizes(), {a.strides(), b.strides()});
  detail::visit_any(a.dtype(), [&]<typename T>() {
    const auto* const x = static_cast<const T*>(a.raw_data());
    const auto* const y = static_cast<const T*>(b.raw_data());
    nest.for_each_row([&](std::int64_t n, const std::array<detail::RowOf, 2>& row) {
      for (std::int64_t i = 0; i < n && same; ++i) {
        const T left = x[row[0].offset + i * row[0].step];
        const T right = y[row[1].offset + i * row[1].step];
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
          same = to_float(left) == to_float(right);
        } else {
          same = left == right;
        }
      }
    });
  });
  return same;
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol) {
  if (a.sizes() != b.sizes()) {
    throw ShapeError(fmt::format("[tensor.allclose] {} against {}; the shapes must be equal",
                                 detail::describe(a), detail::describe(b)));
  }
  const auto x = a.to_vector<double>();
  const auto y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool close = x[i] == y[i] || std::fabs(x[i] - y[i]) <= atol + rtol * std::fabs(y[i]);
    if (!close || (std::isinf(y[i]) && x[i] != y[i])) return false;
  }
  return true;
}

}  // namespace plab
