// SPDX-License-Identifier: Apache-2.0
// Element-wise operations of one tensor.
#include <cmath>

#include "plab/tensor/elementwise.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/strided.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

using detail::recorder;

namespace {

template <typename T, typename F>
void apply(const Tensor& out, const Tensor& a, F f) {
  const detail::Nest<2> nest(out.sizes(), {out.strides(), a.strides()});
  T* const to = out.data<T>();
  const T* const from = a.data<T>();
  nest.for_each_row([=](std::int64_t n, const std::array<detail::RowOf, 2>& row) {
    T* const y = to + row[0].offset;
    const T* const x = from + row[1].offset;
    if (row[0].step == 1 && row[1].step == 1) {
      for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) y[i * row[0].step] = f(x[i * row[1].step]);
    }
  });
}

// Whole numbers and bool become float32 first, as in PyTorch.
template <typename F>
Tensor floating(const Tensor& a, std::string_view operation, F f) {
  detail::check_computable(a, operation);
  const DType dtype = is_floating(a.dtype()) ? a.dtype() : DType::kF32;
  Tensor out = Tensor::empty(a.sizes(), dtype);
  detail::visit_floating(dtype, operation,
                         [&]<typename T>() { apply<T>(out, detail::cast(a, dtype), f); });
  return out;
}

// Keeps the dtype; bool is refused.
template <typename F>
Tensor arithmetic(const Tensor& a, std::string_view operation, F f) {
  detail::check_computable(a, operation);
  if (a.dtype() == DType::kBool) {
    throw DTypeError(fmt::format("[tensor.{0}] {1}: bool takes no {0}; convert it with to()",
                                 operation, detail::describe(a)));
  }
  Tensor out = Tensor::empty(a.sizes(), a.dtype());
  detail::visit(a.dtype(), [&]<typename T>() { apply<T>(out, a, f); });
  return out;
}

constexpr auto kNegate = [](auto x) {
  using T = decltype(x);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));  // wraps at the least
  } else {
    return -x;
  }
};

}  // namespace

Tensor pow(const Tensor& a, double exponent) {
  if (is_recorded(a)) return recorder(&AutogradTable::pow, "pow")(a, exponent);
  if (exponent == 2) return floating(a, "pow", [](auto x) { return x * x; });
  return floating(a, "pow",
                  [exponent](auto x) { return std::pow(x, static_cast<decltype(x)>(exponent)); });
}

Tensor neg(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::neg, "neg")(a);
  return arithmetic(a, "neg", kNegate);
}

Tensor abs(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::abs, "abs")(a);
  return arithmetic(a, "abs", [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return x < T{0} ? kNegate(x) : x;
  });
}

Tensor exp(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::exp, "exp")(a);
  return floating(a, "exp", [](auto x) { return std::exp(x); });
}

Tensor ln(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::log, "ln")(a);
  return floating(a, "ln", [](auto x) { return std::log(x); });
}

Tensor sqrt(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::sqrt, "sqrt")(a);
  return floating(a, "sqrt", [](auto x) { return std::sqrt(x); });
}

Tensor tanh(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::tanh, "tanh")(a);
  return floating(a, "tanh", [](auto x) { return std::tanh(x); });
}

Tensor relu(const Tensor& a) {
  if (is_recorded(a)) return recorder(&AutogradTable::relu, "relu")(a);
  if (a.dtype() == DType::kF32 && a.is_contiguous()) {
    Tensor out = Tensor::empty(a.sizes());
    kernels::relu(a.data<float>(), out.data<float>(), static_cast<std::size_t>(a.numel()));
    return out;
  }
  return arithmetic(a, "relu", [](auto x) { return x < decltype(x){0} ? decltype(x){0} : x; });
}

}  // namespace plab
