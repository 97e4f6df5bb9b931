#pragma once
// SPDX-License-Identifier: Apache-2.0
// Irregular numbers for the tests of nn.

#include <initializer_list>
#include <vector>

#include "plab/tensor/random.h"
#include "plab/tensor/tensor.h"

namespace plab::nn::testing {

/// A float64 leaf with distinct values in (low, high) that requires a gradient.
inline Tensor leaf(const Shape& shape, std::uint64_t seed, double low = -2, double high = 2) {
  Generator generator(seed);
  Tensor tensor = Tensor::empty(shape, DType::kF64);
  tensor.uniform_(low, high, generator);
  tensor.requires_grad_();
  return tensor;
}

/// A leaf whose elements are at least 0.1 away from 0, for functions with a corner there.
inline Tensor leaf_off_zero(const Shape& shape, std::uint64_t seed) {
  Tensor tensor = leaf(shape, seed);
  double* const x = tensor.data<double>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) x[i] += x[i] < 0 ? -0.1 : 0.1;
  return tensor;
}

inline Tensor f64(std::initializer_list<double> values) { return Tensor::of<double>(values); }

/// A float64 leaf with the given values that requires a gradient.
inline Tensor leaf_of(std::initializer_list<double> values) {
  Tensor tensor = f64(values);
  tensor.requires_grad_();
  return tensor;
}

/// Whether two lists agree within 1e-9 or nine digits.
inline bool close(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double scale = b[i] < 0 ? -b[i] : b[i];
    const double apart = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
    if (!(apart <= 1e-9 * (scale > 1 ? scale : 1))) return false;
  }
  return true;
}
inline bool close(const Tensor& a, const std::vector<double>& b) {
  return close(a.to_vector<double>(), b);
}

}  // namespace plab::nn::testing
