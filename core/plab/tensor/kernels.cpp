// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "plab/tensor/simd.h"

namespace plab::kernels {

// ivdep: an output may be one of the inputs, but they do not overlap in any other way.

template <typename T>
PLAB_SIMD void add(const T* a, const T* b, T* out, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

template <typename T>
PLAB_SIMD void sub(const T* a, const T* b, T* out, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] - b[i];
}

template <typename T>
PLAB_SIMD void mul(const T* a, const T* b, T* out, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] * b[i];
}

template <typename T>
PLAB_SIMD void axpy(T alpha, const T* x, T* y, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) y[i] += alpha * x[i];
}

template <typename T>
PLAB_SIMD void scale(T alpha, T* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] *= alpha;
}

template <typename T>
void fill_rows(const T* bias, T* out, std::size_t rows, std::size_t columns) {
  if (columns == 0) return;
  for (std::size_t i = 0; i < rows; ++i) {
    std::memcpy(out + i * columns, bias, columns * sizeof(T));
  }
}

template <typename T>
PLAB_SIMD void add_bias(const T* bias, T* out, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i) {
    T* const row = out + i * columns;
#pragma GCC ivdep
    for (std::size_t j = 0; j < columns; ++j) row[j] += bias[j];
  }
}

// Rows are added up in T, 64 at a time, and the sums of 64 in double: nearly as fast as T alone,
// and the error does not grow with the number of rows.
template <typename T>
PLAB_SIMD void sum_rows(const T* a, T* out, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kRows = 64;
  constexpr std::size_t kColumns = 256;
  for (std::size_t from = 0; from < columns; from += kColumns) {
    const std::size_t width = std::min(kColumns, columns - from);
    std::array<double, kColumns> total;
    std::array<T, kColumns> part;
    std::fill_n(total.begin(), width, 0.0);
    for (std::size_t i = 0; i < rows; i += kRows) {
      std::fill_n(part.begin(), width, T{0});
      const std::size_t end = std::min(rows, i + kRows);
      for (std::size_t r = i; r < end; ++r) {
        const T* const row = a + r * columns + from;
#pragma GCC ivdep
        for (std::size_t j = 0; j < width; ++j) part[j] += row[j];
      }
      for (std::size_t j = 0; j < width; ++j) total[j] += static_cast<double>(part[j]);
    }
    for (std::size_t j = 0; j < width; ++j) out[from + j] = static_cast<T>(total[j]);
  }
}

// Eight sums in double, so that the loop vectorises without changing the order of additions.
template <typename T>
PLAB_SIMD double sum(const T* a, std::size_t n) {
  std::array<double, 8> lanes{};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) lanes[k] += static_cast<double>(a[i + k]);
  }
  double rest = 0;
  for (; i < n; ++i) rest += static_cast<double>(a[i]);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7])) + rest;
}

template <typename T>
PLAB_SIMD void relu(const T* a, T* out, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] < T{0} ? T{0} : a[i];
}

template <typename T>
PLAB_SIMD void relu_backward(const T* gradient, const T* output, T* out, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = output[i] > T{0} ? gradient[i] : T{0};
}

template <typename T>
PLAB_SIMD void tanh_backward(const T* gradient, const T* output, T* out, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) out[i] = gradient[i] * (T{1} - output[i] * output[i]);
}

namespace {

template <typename T>
T largest(const T* row, std::size_t columns) {
  T top = row[0];
  // NOLINTNEXTLINE(misc-redundant-expression): only NaN differs from itself
  for (std::size_t j = 1; j < columns; ++j) top = (row[j] > top || row[j] != row[j]) ? row[j] : top;
  // all -inf: nothing to shift by; 0 keeps the differences defined as PyTorch leaves them (NaN)
  return top;
}

}  // namespace

template <typename T>
void log_softmax(const T* a, T* out, std::size_t rows, std::size_t columns) {
  if (columns == 0) return;
  for (std::size_t i = 0; i < rows; ++i) {
    const T* const x = a + i * columns;
    T* const y = out + i * columns;
    const T top = largest(x, columns);
    double total = 0;
    for (std::size_t j = 0; j < columns; ++j) total += static_cast<double>(std::exp(x[j] - top));
    const T shift = static_cast<T>(std::log(total));
    for (std::size_t j = 0; j < columns; ++j) y[j] = x[j] - top - shift;
  }
}

template <typename T>
void softmax(const T* a, T* out, std::size_t rows, std::size_t columns) {
  if (columns == 0) return;
  for (std::size_t i = 0; i < rows; ++i) {
    const T* const x = a + i * columns;
    T* const y = out + i * columns;
    const T top = largest(x, columns);
    double total = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      y[j] = std::exp(x[j] - top);
      total += static_cast<double>(y[j]);
    }
    const T factor = static_cast<T>(1 / total);
    for (std::size_t j = 0; j < columns; ++j) y[j] *= factor;
  }
}

template <typename T>
void log_softmax_backward(const T* gradient, const T* output, T* out, std::size_t rows,
                          std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i) {
    const T* const g = gradient + i * columns;
    const T* const y = output + i * columns;
    T* const to = out + i * columns;
    double total = 0;
    for (std::size_t j = 0; j < columns; ++j) total += static_cast<double>(g[j]);
    for (std::size_t j = 0; j < columns; ++j) to[j] = g[j] - std::exp(y[j]) * static_cast<T>(total);
  }
}

template <typename T>
PLAB_SIMD void sgd(const SgdStep<T>& step, T* parameter, const T* gradient, T* velocity,
                   std::size_t n) {
  const SgdStep<T> s = step;
  if (s.momentum == T{0}) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) {
      parameter[i] -= s.rate * (gradient[i] + s.weight_decay * parameter[i]);
    }
    return;
  }
  const T keep = s.first ? T{0} : s.momentum;
  const T take = s.first ? T{1} : T{1} - s.dampening;
  if (s.first) std::fill_n(velocity, n, T{0});
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const T g = gradient[i] + s.weight_decay * parameter[i];
    const T v = keep * velocity[i] + take * g;
    velocity[i] = v;
    parameter[i] -= s.rate * (s.nesterov ? g + s.momentum * v : v);
  }
}

template <typename T>
PLAB_SIMD void adam(const AdamStep<T>& step, T* parameter, const T* gradient, AdamState<T> state,
                    std::size_t n) {
  const AdamStep<T> s = step;
  const T rate = s.rate / s.correction1;
  const T root = std::sqrt(s.correction2);
  T* const mean = state.mean;
  T* const square = state.square;
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const T g = gradient[i] + s.weight_decay * parameter[i];
    const T m = s.beta1 * mean[i] + (T{1} - s.beta1) * g;
    const T v = s.beta2 * square[i] + (T{1} - s.beta2) * g * g;
    mean[i] = m;
    square[i] = v;
    parameter[i] -= rate * m / (std::sqrt(v) / root + s.epsilon);
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type, which takes none
#define PLAB_INSTANTIATE(T)                                                             \
  template void add(const T*, const T*, T*, std::size_t);                               \
  template void sub(const T*, const T*, T*, std::size_t);                               \
  template void mul(const T*, const T*, T*, std::size_t);                               \
  template void axpy(T, const T*, T*, std::size_t);                                     \
  template void scale(T, T*, std::size_t);                                              \
  template void fill_rows(const T*, T*, std::size_t, std::size_t);                      \
  template void add_bias(const T*, T*, std::size_t, std::size_t);                       \
  template void sum_rows(const T*, T*, std::size_t, std::size_t);                       \
  template double sum(const T*, std::size_t);                                           \
  template void relu(const T*, T*, std::size_t);                                        \
  template void relu_backward(const T*, const T*, T*, std::size_t);                     \
  template void tanh_backward(const T*, const T*, T*, std::size_t);                     \
  template void log_softmax(const T*, T*, std::size_t, std::size_t);                    \
  template void softmax(const T*, T*, std::size_t, std::size_t);                        \
  template void log_softmax_backward(const T*, const T*, T*, std::size_t, std::size_t); \
  template void sgd(const SgdStep<T>&, T*, const T*, T*, std::size_t);                  \
  template void adam(const AdamStep<T>&, T*, const T*, AdamState<T>, std::size_t)
// NOLINTEND(bugprone-macro-parentheses)

PLAB_INSTANTIATE(float);
PLAB_INSTANTIATE(double);
#undef PLAB_INSTANTIATE

}  // namespace plab::kernels
