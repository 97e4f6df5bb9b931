// SPDX-License-Identifier: Apache-2.0
// Matrix products, through OpenBLAS.
#include <cblas.h>

#include <atomic>
#include <climits>

#include "plab/base/env.h"
#include "plab/tensor/elementwise.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

namespace {

// 0: OpenBLAS has not been told yet. It counts all processors by default, which is wrong as soon
// as several processes train; so it is told before the first product.
std::atomic<int> thread_count{0};
constexpr int kMostThreads = 1024;

int wanted_threads() {
  return static_cast<int>(env::get_int("PLAB_NUM_THREADS", 1, kMostThreads).value_or(1));
}

inline void prepare_blas() {
  if (thread_count.load(std::memory_order_relaxed) == 0) [[unlikely]] {
    set_num_threads(wanted_threads());
  }
}

blasint to_blas(std::int64_t size) {
  if (size > INT_MAX) {
    throw ShapeError(fmt::format(
        "[tensor.matmul] a size of {} is over 2^31 - 1, the most that BLAS takes", size));
  }
  return static_cast<blasint>(size);
}

CBLAS_TRANSPOSE to_blas(kernels::Transpose transpose) {
  return transpose == kernels::Transpose::kYes ? CblasTrans : CblasNoTrans;
}

}  // namespace

void set_num_threads(int threads) {
  if (threads < 1 || threads > kMostThreads) {
    throw ContractError(
        fmt::format("[tensor.threads] {} threads; give 1 to {}", threads, kMostThreads));
  }
  openblas_set_num_threads(threads);
  thread_count.store(threads);
}

int get_num_threads() {
  const int known = thread_count.load();
  return known != 0 ? known : wanted_threads();
}

namespace kernels {

template <typename T>
void gemm(const GemmShape& shape, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c,
          std::int64_t c_leading) {
  if (shape.rows == 0 || shape.columns == 0) return;
  prepare_blas();
  const blasint m = to_blas(shape.rows);
  const blasint n = to_blas(shape.columns);
  const blasint k = to_blas(shape.inner);
  const blasint lda = to_blas(a.leading);
  const blasint ldb = to_blas(b.leading);
  const blasint ldc = to_blas(c_leading);
  if constexpr (std::is_same_v<T, float>) {
    cblas_sgemm(CblasRowMajor, to_blas(a.transpose), to_blas(b.transpose), m, n, k, alpha, a.data,
                lda, b.data, ldb, beta, c, ldc);
  } else {
    cblas_dgemm(CblasRowMajor, to_blas(a.transpose), to_blas(b.transpose), m, n, k, alpha, a.data,
                lda, b.data, ldb, beta, c, ldc);
  }
}

template void gemm(const GemmShape&, float, const Matrix<float>&, const Matrix<float>&, float,
                   float*, std::int64_t);
template void gemm(const GemmShape&, double, const Matrix<double>&, const Matrix<double>&, double,
                   double*, std::int64_t);

}  // namespace kernels

namespace {

// A matrix as BLAS can read it; `keep` holds the copy that it took where the strides fit neither
// way.
template <typename T>
kernels::Matrix<T> as_matrix(const Tensor& matrix, Tensor& keep) {
  const std::int64_t rows = matrix.sizes()[0];
  const std::int64_t columns = matrix.sizes()[1];
  const std::int64_t down = matrix.strides()[0];
  const std::int64_t across = matrix.strides()[1];
  if ((across == 1 || columns <= 1) && (down >= std::max<std::int64_t>(columns, 1) || rows <= 1)) {
    return {matrix.data<T>(), rows <= 1 ? std::max<std::int64_t>(columns, 1) : down,
            kernels::Transpose::kNo};
  }
  if ((down == 1 || rows <= 1) && (across >= std::max<std::int64_t>(rows, 1) || columns <= 1)) {
    return {matrix.data<T>(), columns <= 1 ? std::max<std::int64_t>(rows, 1) : across,
            kernels::Transpose::kYes};
  }
  keep = Tensor::empty(matrix.sizes(), matrix.dtype());
  detail::copy_elements(keep, matrix);
  return {keep.data<T>(), std::max<std::int64_t>(columns, 1), kernels::Transpose::kNo};
}

template <typename T>
void blas_product(const Tensor& a, const Tensor& b, const Tensor& out, T beta) {
  Tensor keep_a;
  Tensor keep_b;
  const kernels::GemmShape shape{a.sizes()[0], b.sizes()[1], a.sizes()[1]};
  if (shape.inner == 0) {
    if (beta == T{0} && out.numel() > 0) out.zero_();
    return;
  }
  const auto x = as_matrix<T>(a, keep_a);
  const auto y = as_matrix<T>(b, keep_b);
  kernels::gemm(shape, T{1}, x, y, beta, out.data<T>(), std::max<std::int64_t>(out.sizes()[1], 1));
}

template <typename T>
void integer_product(const Tensor& left, const Tensor& right, const Tensor& out) {
  using U = std::make_unsigned_t<T>;  // wraps, as in PyTorch
  const Tensor a = detail::dense(left);
  const Tensor b = detail::dense(right);
  const std::int64_t rows = a.sizes()[0];
  const std::int64_t inner = a.sizes()[1];
  const std::int64_t columns = b.sizes()[1];
  out.zero_();
  T* const c = out.data<T>();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < inner; ++k) {
      const U x = static_cast<U>(a.data<T>()[i * inner + k]);
      const T* const row = b.data<T>() + k * columns;
      for (std::int64_t j = 0; j < columns; ++j) {
        c[i * columns + j] = static_cast<T>(static_cast<U>(c[i * columns + j]) +
                                            static_cast<U>(x * static_cast<U>(row[j])));
      }
    }
  }
}

void check_product(const Tensor& a, const Tensor& b, std::string_view operation) {
  detail::check_computable(a, operation);
  detail::check_computable(b, operation);
  if (a.dtype() != b.dtype() || a.dtype() == DType::kBool) {
    throw DTypeError(fmt::format(
        "[tensor.{}] {} times {}; both must have one dtype, not bool: convert with to()", operation,
        detail::describe(a), detail::describe(b)));
  }
}

void product_into(const Tensor& a, const Tensor& b, const Tensor& out) {
  switch (a.dtype()) {
    case DType::kF32:
      return blas_product<float>(a, b, out, 0);
    case DType::kF64:
      return blas_product<double>(a, b, out, 0);
    case DType::kI32:
      return integer_product<std::int32_t>(a, b, out);
    case DType::kI64:
      return integer_product<std::int64_t>(a, b, out);
    default:
      return integer_product<std::uint8_t>(a, b, out);
  }
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (grad_enabled() && (a.requires_grad() || b.requires_grad())) {
    return detail::recorder(&AutogradTable::matmul, "matmul")(a, b);
  }
  check_product(a, b, "matmul");
  if (a.dim() < 1 || a.dim() > 2 || b.dim() < 1 || b.dim() > 2) {
    throw ShapeError(fmt::format("[tensor.matmul] {} times {}; each takes 1 or 2 dimensions",
                                 detail::describe(a), detail::describe(b)));
  }
  const std::int64_t inner = a.sizes()[a.sizes().dims() - 1];
  if (inner != b.sizes()[0]) {
    throw ShapeError(fmt::format(
        "[tensor.matmul] {} times {}: the last size of the first ({}) must equal the first of the "
        "second ({})",
        detail::describe(a), detail::describe(b), inner, b.sizes()[0]));
  }
  const Tensor left = a.dim() == 2 ? a : a.unsqueeze(0);
  const Tensor right = b.dim() == 2 ? b : b.unsqueeze(1);
  Shape shape;
  if (a.dim() == 2) shape.push_back(a.sizes()[0]);
  if (b.dim() == 2) shape.push_back(b.sizes()[1]);
  Tensor out = Tensor::empty(shape, a.dtype());
  product_into(left, right,
               shape.dims() == 2 ? out : out.view({left.sizes()[0], right.sizes()[1]}));
  return out;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (grad_enabled() && (x.requires_grad() || weight.requires_grad() || bias.requires_grad())) {
    return detail::recorder(&AutogradTable::linear, "linear")(x, weight, bias);
  }
  check_product(x, weight, "linear");
  if (bias.defined()) check_product(x, bias, "linear");
  const bool is_vector = x.dim() == 1;
  const bool fits = (x.dim() == 2 || is_vector) && weight.dim() == 2 &&
                    x.sizes()[x.sizes().dims() - 1] == weight.sizes()[1] &&
                    (!bias.defined() || bias.sizes() == Shape{weight.sizes()[0]});
  if (!fits) {
    throw ShapeError(fmt::format(
        "[tensor.linear] x {}, weight {}, bias {}; they must be [n, in], [out, in] and [out]",
        detail::describe(x), detail::describe(weight),
        bias.defined() ? detail::describe(bias) : "none"));
  }
  const Tensor input = is_vector ? x.unsqueeze(0) : x;
  const std::int64_t rows = input.sizes()[0];
  const std::int64_t columns = weight.sizes()[0];
  Tensor out = Tensor::empty({rows, columns}, x.dtype());
  const Tensor across = weight.t();
  if (!bias.defined()) {
    product_into(input, across, out);
  } else {
    detail::visit_floating(x.dtype(), "linear", [&]<typename T>() {
      const Tensor row = detail::dense(bias);
      kernels::fill_rows(row.data<T>(), out.data<T>(), static_cast<std::size_t>(rows),
                         static_cast<std::size_t>(columns));
      blas_product<T>(input, across, out, T{1});
    });
  }
  return is_vector ? out.view({columns}) : out;
}

}  // namespace plab
