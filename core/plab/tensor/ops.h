#pragma once
// SPDX-License-Identifier: Apache-2.0
// Operations that make a new tensor. When gradients are on and an operand requires one, a call goes
// to the recording version that nn registers (tensor/autograd.h), as PyTorch's dispatcher does it;
// otherwise straight to the kernel.

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "plab/tensor/tensor.h"

namespace plab {

namespace detail {
/// A scalar tensor of one whole number, exact.
[[nodiscard]] inline Tensor whole(std::integral auto value) {
  Tensor out = Tensor::empty(Shape{}, DType::kI64);
  *out.data<std::int64_t>() = static_cast<std::int64_t>(value);
  return out;
}
}  // namespace detail

// Element-wise, with broadcasting and type promotion.
// @throws ShapeError, DTypeError: both operands are named
[[nodiscard]] Tensor add(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor sub(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor mul(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor div(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor maximum(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor pow(const Tensor& a, double exponent);
[[nodiscard]] Tensor neg(const Tensor& a);
[[nodiscard]] Tensor abs(const Tensor& a);
[[nodiscard]] Tensor exp(const Tensor& a);
/// The natural logarithm: torch.log. Named ln, since plab::log is the namespace of the log.
[[nodiscard]] Tensor ln(const Tensor& a);
[[nodiscard]] Tensor sqrt(const Tensor& a);
[[nodiscard]] Tensor tanh(const Tensor& a);
[[nodiscard]] Tensor relu(const Tensor& a);
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
[[nodiscard]] Tensor operator+(const Tensor& a, double b);
[[nodiscard]] Tensor operator-(const Tensor& a, double b);
[[nodiscard]] Tensor operator*(const Tensor& a, double b);
[[nodiscard]] Tensor operator/(const Tensor& a, double b);
// A whole number leaves a tensor of whole numbers whole, as in PyTorch; a double makes it float32.
template <std::integral T>
[[nodiscard]] Tensor operator+(const Tensor& a, T b) {
  return is_floating(a.dtype()) ? a + static_cast<double>(b) : add(a, detail::whole(b));
}
template <std::integral T>
[[nodiscard]] Tensor operator-(const Tensor& a, T b) {
  return is_floating(a.dtype()) ? a - static_cast<double>(b) : sub(a, detail::whole(b));
}
template <std::integral T>
[[nodiscard]] Tensor operator*(const Tensor& a, T b) {
  return is_floating(a.dtype()) ? a * static_cast<double>(b) : mul(a, detail::whole(b));
}
template <std::integral T>
[[nodiscard]] Tensor operator/(const Tensor& a, T b) {
  return a / static_cast<double>(b);
}
template <typename T>
requires std::is_arithmetic_v<T>
[[nodiscard]] Tensor operator+(T a, const Tensor& b) { return b + a; }
template <typename T>
requires std::is_arithmetic_v<T>
[[nodiscard]] Tensor operator-(T a, const Tensor& b) { return neg(b) + a; }
template <typename T>
requires std::is_arithmetic_v<T>
[[nodiscard]] Tensor operator*(T a, const Tensor& b) { return b * a; }

// Comparisons: a bool tensor; never recorded.
[[nodiscard]] Tensor eq(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor lt(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor gt(const Tensor& a, const Tensor& b);
/// Same shape, dtype and bits of value (NaN equals nothing).
[[nodiscard]] bool equal(const Tensor& a, const Tensor& b);
/// |a - b| <= atol + rtol * |b| everywhere, shapes equal.
[[nodiscard]] bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5,
                            double atol = 1e-8);

// Reductions over everything, or over one dimension (negative counts from the end).
[[nodiscard]] Tensor sum(const Tensor& a);
[[nodiscard]] Tensor sum(const Tensor& a, std::int64_t dim, bool keepdim = false);
[[nodiscard]] Tensor mean(const Tensor& a);
[[nodiscard]] Tensor mean(const Tensor& a, std::int64_t dim, bool keepdim = false);
[[nodiscard]] Tensor max(const Tensor& a);
[[nodiscard]] Tensor min(const Tensor& a);
[[nodiscard]] Tensor argmax(const Tensor& a, std::int64_t dim, bool keepdim = false);

[[nodiscard]] Tensor matmul(const Tensor& a, const Tensor& b);  ///< 1 or 2 dimensions each
/// x [n, in] times weight [out, in] transposed, plus bias [out] if defined: one BLAS call.
[[nodiscard]] Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
[[nodiscard]] Tensor log_softmax(const Tensor& a, std::int64_t dim);
[[nodiscard]] Tensor softmax(const Tensor& a, std::int64_t dim);
/// out[i][j] = a[i][index[i][j]] for dim 1, and so on, as torch.gather.
[[nodiscard]] Tensor gather(const Tensor& a, std::int64_t dim, const Tensor& index);
/// The rows (or other slices) named by a 1-d int64 tensor, copied.
[[nodiscard]] Tensor index_select(const Tensor& a, std::int64_t dim, const Tensor& index);
[[nodiscard]] Tensor cat(std::span<const Tensor> parts, std::int64_t dim);
[[nodiscard]] Tensor stack(std::span<const Tensor> parts, std::int64_t dim = 0);

/// Threads that a matrix product uses in this process; 1 unless PLAB_NUM_THREADS or this says so.
void set_num_threads(int threads);
[[nodiscard]] int get_num_threads();

}  // namespace plab
