// SPDX-License-Identifier: Apache-2.0
// Reductions and softmax. Each looks at its operand as [outer, n, inner] and goes along n.
#include <limits>

#include "plab/tensor/elementwise.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

using detail::recorder;

namespace {

struct Layout {
  std::size_t outer = 1;
  std::size_t n = 1;
  std::size_t inner = 1;
};

Layout layout_of(const Shape& sizes, std::size_t dim) {
  Layout layout;
  for (std::size_t i = 0; i < sizes.dims(); ++i) {
    auto& part = i < dim ? layout.outer : i == dim ? layout.n : layout.inner;
    part *= static_cast<std::size_t>(sizes[i]);
  }
  return layout;
}

Shape reduced(const Shape& sizes, std::size_t dim, bool keepdim) {
  Shape shape = sizes;
  if (shape.dims() == 0) return shape;
  if (keepdim) {
    shape[dim] = 1;
  } else {
    shape.erase(dim);
  }
  return shape;
}

template <typename T>
void sum_floating(const T* from, T* to, const Layout& l) {
  for (std::size_t o = 0; o < l.outer; ++o) {
    const T* const block = from + o * l.n * l.inner;
    if (l.inner == 1) {
      to[o] = static_cast<T>(kernels::sum(block, l.n));
    } else {
      kernels::sum_rows(block, to + o * l.inner, l.n, l.inner);
    }
  }
}

template <typename T>
void sum_whole(const T* from, std::int64_t* to, const Layout& l) {
  for (std::size_t o = 0; o < l.outer; ++o) {
    for (std::size_t i = 0; i < l.inner; ++i) {
      std::uint64_t total = 0;  // wraps, as in PyTorch
      for (std::size_t k = 0; k < l.n; ++k) {
        total += static_cast<std::uint64_t>(
            static_cast<std::int64_t>(from[(o * l.n + k) * l.inner + i]));
      }
      to[o * l.inner + i] = static_cast<std::int64_t>(total);
    }
  }
}

Tensor sum_into(const Tensor& a, const Layout& layout, const Shape& shape) {
  const Tensor dense = detail::dense(a);
  Tensor out = Tensor::empty(shape, is_floating(a.dtype()) ? a.dtype() : DType::kI64);
  detail::visit(a.dtype(), [&]<typename T>() {
    if constexpr (std::is_floating_point_v<T>) {
      sum_floating(dense.data<T>(), out.data<T>(), layout);
    } else {
      sum_whole(dense.data<T>(), out.data<std::int64_t>(), layout);
    }
  });
  return out;
}

void check_mean(const Tensor& a) {
  detail::check_computable(a, "mean");
  if (!is_floating(a.dtype())) {
    throw DTypeError(fmt::format(
        "[tensor.mean] the mean of {} is not whole; convert it with to(DType::kF32) first",
        detail::describe(a)));
  }
}

const Tensor& divide_(const Tensor& sums, std::int64_t count) {
  const Tensor divisor = Tensor::scalar(static_cast<double>(count), sums.dtype());
  detail::binary_in_place(detail::BinaryOp::kDiv, sums, divisor, "mean");
  return sums;
}

// The place of the first best element; NaN is better than anything.
template <typename T, typename Better>
std::size_t best(const T* from, std::size_t n, std::size_t step, Better better) {
  std::size_t at = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const T x = from[k * step];
    // NOLINTNEXTLINE(misc-redundant-expression): only NaN differs from itself
    if (x != x) return k;
    if (better(x, from[at * step])) at = k;
  }
  return at;
}

template <typename Better>
Tensor extreme(const Tensor& a, std::string_view operation, Better better) {
  detail::check_computable(a, operation);
  if (a.numel() == 0) {
    throw ShapeError(
        fmt::format("[tensor.{}] {} has no element to pick", operation, detail::describe(a)));
  }
  const Tensor dense = detail::dense(a);
  Tensor out = Tensor::empty(Shape{}, a.dtype());
  detail::visit(a.dtype(), [&]<typename T>() {
    const T* const from = dense.data<T>();
    *out.data<T>() = from[best(from, static_cast<std::size_t>(a.numel()), 1, better)];
  });
  return out;
}

using Kernel32 = void (*)(const float*, float*, std::size_t, std::size_t);
using Kernel64 = void (*)(const double*, double*, std::size_t, std::size_t);

// The kernels go along the last dimension; another one is brought there and back.
Tensor along(const Tensor& a, std::int64_t dim, std::string_view operation, Kernel32 narrow,
             Kernel64 wide) {
  detail::check_computable(a, operation);
  const std::size_t d = detail::wrap_dim(dim, a.sizes().dims(), operation);
  if (a.dim() > 0 && d + 1 != a.sizes().dims()) {
    return along(a.transpose(dim, -1), -1, operation, narrow, wide).transpose(dim, -1);
  }
  const Tensor dense = detail::dense(a);
  Tensor out = Tensor::empty(a.sizes(), a.dtype());
  if (a.numel() == 0) return out;
  const Layout layout = layout_of(a.sizes(), d);
  if (a.dtype() == DType::kF32) {
    narrow(dense.data<float>(), out.data<float>(), layout.outer, layout.n);
  } else if (a.dtype() == DType::kF64) {
    wide(dense.data<double>(), out.data<double>(), layout.outer, layout.n);
  } else {
    detail::throw_not_floating(a.dtype(), operation);
  }
  return out;
}

}  // namespace

Tensor sum(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::sum, "sum")(a);
  detail::check_computable(a, "sum");
  return sum_into(a, {1, static_cast<std::size_t>(a.numel()), 1}, Shape{});
}

Tensor sum(const Tensor& a, std::int64_t dim, bool keepdim) {
  if (is_recorded(a)) return recorder(&AutogradTable::sum_dim, "sum")(a, dim, keepdim);
  detail::check_computable(a, "sum");
  const std::size_t d = detail::wrap_dim(dim, a.sizes().dims(), "sum");
  return sum_into(a, layout_of(a.sizes(), d), reduced(a.sizes(), d, keepdim));
}

Tensor mean(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::mean, "mean")(a);
  check_mean(a);
  return divide_(sum(a), a.numel());
}

Tensor mean(const Tensor& a, std::int64_t dim, bool keepdim) {
  if (is_recorded(a)) return recorder(&AutogradTable::mean_dim, "mean")(a, dim, keepdim);
  check_mean(a);
  const std::size_t d = detail::wrap_dim(dim, a.sizes().dims(), "mean");
  return divide_(sum(a, dim, keepdim), a.dim() == 0 ? 1 : a.sizes()[d]);
}

Tensor max(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::max, "max")(a);
  return extreme(a, "max", [](auto x, auto y) { return x > y; });
}

Tensor min(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::min, "min")(a);
  return extreme(a, "min", [](auto x, auto y) { return x < y; });
}

Tensor argmax(const Tensor& a, std::int64_t dim, bool keepdim) {
  detail::check_computable(a, "argmax");
  const std::size_t d = detail::wrap_dim(dim, a.sizes().dims(), "argmax");
  const Layout l = layout_of(a.sizes(), d);
  if (l.n == 0) {
    throw ShapeError(fmt::format("[tensor.argmax] dimension {} of {} has no element to pick", d,
                                 detail::describe(a)));
  }
  const Tensor dense = detail::dense(a);
  Tensor out = Tensor::empty(reduced(a.sizes(), d, keepdim), DType::kI64);
  detail::visit(a.dtype(), [&]<typename T>() {
    const T* const from = dense.data<T>();
    std::int64_t* const to = out.data<std::int64_t>();
    for (std::size_t o = 0; o < l.outer; ++o) {
      for (std::size_t i = 0; i < l.inner; ++i) {
        to[o * l.inner + i] = static_cast<std::int64_t>(
            best(from + o * l.n * l.inner + i, l.n, l.inner, [](T x, T y) { return x > y; }));
      }
    }
  });
  return out;
}

Tensor log_softmax(const Tensor& a, std::int64_t dim) {
  if (is_recorded(a)) return recorder(&AutogradTable::log_softmax, "log_softmax")(a, dim);
  return along(a, dim, "log_softmax", kernels::log_softmax<float>, kernels::log_softmax<double>);
}

Tensor softmax(const Tensor& a, std::int64_t dim) {
  if (is_recorded(a)) return recorder(&AutogradTable::softmax, "softmax")(a, dim);
  return along(a, dim, "softmax", kernels::softmax<float>, kernels::softmax<double>);
}

}  // namespace plab
