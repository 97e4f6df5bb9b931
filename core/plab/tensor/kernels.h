#pragma once
// SPDX-License-Identifier: Apache-2.0
// The loops below the operations, on plain contiguous memory: no tensors, no checks, no allocation.
// For code that reuses its buffers (nn's backward passes and optimizers). Every function takes
// pointers to `n` elements (or rows * columns) of a floating type; instantiated for float and
// double. Results do not depend on the processor: no fused multiply-add is used outside BLAS.
//
// Memory may be shared with another process that writes it at the same time (Hogwild): then an
// element is either the old or the new one, as the processor gives it.

#include <cstddef>
#include <cstdint>

namespace plab::kernels {

/// Whether an operand of gemm is used as it lies in memory or transposed.
enum class Transpose : bool { kNo, kYes };

/// A row-major matrix as BLAS sees it: `leading` elements from one row to the next.
template <typename T>
struct Matrix {
  const T* data = nullptr;
  std::int64_t leading = 0;
  Transpose transpose = Transpose::kNo;
};

/// c [rows, columns] = alpha * a [rows, inner] * b [inner, columns] + beta * c; with beta 0, c need
/// not be initialised. c is row-major and `c_leading` elements from row to row. Threads: as
/// set_num_threads says. @fork safe in a forked child
struct GemmShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
};
template <typename T>
void gemm(const GemmShape& shape, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c,
          std::int64_t c_leading);

/// out = a + b, a - b, a * b.
template <typename T>
void add(const T* a, const T* b, T* out, std::size_t n);
template <typename T>
void sub(const T* a, const T* b, T* out, std::size_t n);
template <typename T>
void mul(const T* a, const T* b, T* out, std::size_t n);
/// y += alpha * x
template <typename T>
void axpy(T alpha, const T* x, T* y, std::size_t n);
/// y *= alpha
template <typename T>
void scale(T alpha, T* y, std::size_t n);
/// out[i][j] = bias[j]
template <typename T>
void fill_rows(const T* bias, T* out, std::size_t rows, std::size_t columns);
/// out[i][j] += bias[j]
template <typename T>
void add_bias(const T* bias, T* out, std::size_t rows, std::size_t columns);
/// out[j] = sum over i of a[i][j]: the gradient of a bias.
template <typename T>
void sum_rows(const T* a, T* out, std::size_t rows, std::size_t columns);

/// The sum of all, added up in double.
template <typename T>
[[nodiscard]] double sum(const T* a, std::size_t n);

/// out = max(a, 0); NaN stays NaN. `out` may be `a`.
template <typename T>
void relu(const T* a, T* out, std::size_t n);
/// out = gradient where output > 0, else 0. `out` may be `gradient`.
template <typename T>
void relu_backward(const T* gradient, const T* output, T* out, std::size_t n);
/// out = gradient * (1 - output^2)
template <typename T>
void tanh_backward(const T* gradient, const T* output, T* out, std::size_t n);
/// Row-wise log-softmax of [rows, columns], stable for any finite input. `out` may be `a`.
template <typename T>
void log_softmax(const T* a, T* out, std::size_t rows, std::size_t columns);
template <typename T>
void softmax(const T* a, T* out, std::size_t rows, std::size_t columns);
/// out = gradient - exp(output) * (row sum of gradient)
template <typename T>
void log_softmax_backward(const T* gradient, const T* output, T* out, std::size_t rows,
                          std::size_t columns);

/// One step of SGD as torch.optim.SGD computes it, in one pass.
template <typename T>
struct SgdStep {
  T rate = 0;
  T momentum = 0;
  T dampening = 0;
  T weight_decay = 0;
  bool nesterov = false;
  bool first = false;  ///< the velocity starts as a copy of the gradient
};
/// @param velocity null when momentum is 0
template <typename T>
void sgd(const SgdStep<T>& step, T* parameter, const T* gradient, T* velocity, std::size_t n);

/// One step of Adam as torch.optim.Adam computes it; `correction1` is 1 - beta1^t, `correction2`
/// 1 - beta2^t for the step's number t, from 1.
template <typename T>
struct AdamStep {
  T rate = 0;
  T beta1 = 0;
  T beta2 = 0;
  T epsilon = 0;
  T weight_decay = 0;
  T correction1 = 1;
  T correction2 = 1;
};
template <typename T>
struct AdamState {
  T* mean = nullptr;
  T* square = nullptr;
};
template <typename T>
void adam(const AdamStep<T>& step, T* parameter, const T* gradient, AdamState<T> state,
          std::size_t n);

}  // namespace plab::kernels
