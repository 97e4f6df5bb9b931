// SPDX-License-Identifier: Apache-2.0
// Element-wise operations of two tensors, and comparisons.
#include "plab/tensor/elementwise.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/strided.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

namespace detail {

namespace {

// Whole numbers wrap, as in PyTorch; the detour over unsigned makes that defined.
template <typename T, typename F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using U = std::conditional_t<sizeof(T) < sizeof(unsigned), unsigned, std::make_unsigned_t<T>>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return static_cast<T>(f(a, b));
  }
}

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bool>) return a || b;
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bool>) return a && b;
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Div {  // floating only
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a / b;
    return T{};
  }
};
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return (a > b || a != a) ? a : b;  // NOLINT(misc-redundant-expression): NaN wins, of either
  }
};
struct Eq {
  template <typename T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Lt {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Gt {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};

// `out` may be `a` itself, but the operands do not overlap in any other way (apart()); hence ivdep.
template <typename Op, typename T, typename R>
void rows(const Nest<3>& nest, R* out, const T* a, const T* b) {
  constexpr Op op;
  nest.for_each_row([=](std::int64_t n, const std::array<RowOf, 3>& row) {
    R* const to = out + row[0].offset;
    const T* const x = a + row[1].offset;
    const T* const y = b + row[2].offset;
    if (row[0].step == 1 && row[1].step == 1 && row[2].step == 1) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) to[i] = op(x[i], y[i]);
    } else if (row[0].step == 1 && row[1].step == 1 && row[2].step == 0) {
      const T value = *y;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) to[i] = op(x[i], value);
    } else if (row[0].step == 1 && row[1].step == 0 && row[2].step == 1) {
      const T value = *x;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i) to[i] = op(value, y[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        to[i * row[0].step] = op(x[i * row[1].step], y[i * row[2].step]);
      }
    }
  });
}

template <typename Op, typename T>
bool flat(const Op& /*op*/, T* out, const T* a, const T* b, std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, Add>) {
    kernels::add(a, b, out, n);
    return true;
  } else if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, Sub>) {
    kernels::sub(a, b, out, n);
    return true;
  } else if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, Mul>) {
    kernels::mul(a, b, out, n);
    return true;
  } else {
    return false;
  }
}

// All operands of one dtype; `out` has the broadcast shape.
template <typename Op, bool kCompares>
void compute(const Tensor& out, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  visit(a.dtype(), [&]<typename T>() {
    using R = std::conditional_t<kCompares, bool, T>;
    R* const to = out.data<R>();
    const T* const x = a.data<T>();
    const T* const y = b.data<T>();
    const Shape& shape = out.sizes();
    const bool dense = out.is_contiguous() && a.is_contiguous() && b.is_contiguous() &&
                       a.sizes() == shape && b.sizes() == shape;
    if constexpr (!kCompares) {
      if (dense && flat(Op{}, to, x, y, out.numel())) return;
    }
    const Nest<3> nest(shape, {out.strides(), broadcast_strides(a.sizes(), a.strides(), shape),
                               broadcast_strides(b.sizes(), b.strides(), shape)});
    rows<Op>(nest, to, x, y);
  });
}

void check_both(const Tensor& a, const Tensor& b, std::string_view operation) {
  check_computable(a, operation);
  check_computable(b, operation);
}

// `tensor` itself where the dtype is right: copying a Tensor costs two atomic operations.
const Tensor& as(const Tensor& tensor, DType dtype, Tensor& keep) {
  if (tensor.dtype() == dtype) return tensor;
  keep = cast(tensor, dtype);
  return keep;
}

template <typename Op>
Tensor binary(const Tensor& a, const Tensor& b, std::string_view operation) {
  check_both(a, b, operation);
  DType dtype = a.dtype() == b.dtype() ? a.dtype() : result_type(a, b);
  if (std::is_same_v<Op, Div> && !is_floating(dtype)) dtype = DType::kF32;
  if (std::is_same_v<Op, Sub> && dtype == DType::kBool) {
    throw DTypeError(fmt::format(
        "[tensor.sub] {} minus {}: bool takes no subtraction; compare with eq(), or convert with "
        "to()",
        describe(a), describe(b)));
  }
  Tensor out = Tensor::empty(
      a.sizes() == b.sizes() ? a.sizes() : broadcast(a.sizes(), b.sizes(), operation), dtype);
  Tensor cast_a;
  Tensor cast_b;
  compute<Op, false>(out, as(a, dtype, cast_a), as(b, dtype, cast_b));
  return out;
}

template <typename Op>
Tensor compare(const Tensor& a, const Tensor& b, std::string_view operation) {
  check_both(a, b, operation);
  const DType dtype = result_type(a, b);
  Tensor out = Tensor::empty(broadcast(a.sizes(), b.sizes(), operation), DType::kBool);
  Tensor cast_a;
  Tensor cast_b;
  compute<Op, true>(out, as(a, dtype, cast_a), as(b, dtype, cast_b));
  return out;
}

template <typename Op>
void in_place(const Tensor& target, const Tensor& other) {
  compute<Op, false>(target, target, apart(target, other));
}

int category(DType dtype) { return dtype == DType::kBool ? 0 : is_floating(dtype) ? 2 : 1; }

}  // namespace
DType result_type(const Tensor& a, const Tensor& b) {
  const bool a_scalar = a.dim() == 0;
  if (a_scalar == (b.dim() == 0)) return promote(a.dtype(), b.dtype());
  const DType tensor = a_scalar ? b.dtype() : a.dtype();
  const DType scalar = a_scalar ? a.dtype() : b.dtype();
  return category(scalar) > category(tensor) ? promote(tensor, scalar) : tensor;
}

void binary_in_place(BinaryOp op, const Tensor& target, const Tensor& other,
                     std::string_view operation) {
  check_both(target, other, operation);
  check_broadcasts_into(target, other, operation);
  DType dtype = result_type(target, other);
  if (op == BinaryOp::kDiv && !is_floating(dtype)) dtype = DType::kF32;
  if (category(dtype) > category(target.dtype())) {
    throw DTypeError(fmt::format(
        "[tensor.{}] a result of {} cannot be kept in the target {} (the other operand: {}); use "
        "the operation that makes a new tensor",
        operation, name_of(dtype), describe(target), describe(other)));
  }
  if (dtype != target.dtype()) {  // computed in the wider type, then cut, as PyTorch does
    const Tensor wide = cast(target, dtype);
    binary_in_place(op, wide, other, operation);
    copy_elements(target, wide);
    return;
  }
  const Tensor operand = cast(other, dtype);
  switch (op) {
    case BinaryOp::kAdd:
      return in_place<Add>(target, operand);
    case BinaryOp::kSub:
      return in_place<Sub>(target, operand);
    case BinaryOp::kMul:
      return in_place<Mul>(target, operand);
    case BinaryOp::kDiv:
      return in_place<Div>(target, operand);
    case BinaryOp::kMaximum:
      return in_place<Maximum>(target, operand);
  }
}

namespace {

bool either_recorded(const Tensor& a, const Tensor& b) noexcept {
  return grad_enabled() && (a.requires_grad() || b.requires_grad());
}

// The dtype of `a` combined with a C++ floating number.
DType with_number(const Tensor& a) { return is_floating(a.dtype()) ? a.dtype() : DType::kF32; }

}  // namespace

}  // namespace detail

using detail::either_recorded;
using detail::recorder;

Tensor add(const Tensor& a, const Tensor& b) {
  if (either_recorded(a, b)) return recorder(&AutogradTable::add, "add")(a, b);
  return detail::binary<detail::Add>(a, b, "add");
}

Tensor sub(const Tensor& a, const Tensor& b) {
  if (either_recorded(a, b)) return recorder(&AutogradTable::sub, "sub")(a, b);
  return detail::binary<detail::Sub>(a, b, "sub");
}

Tensor mul(const Tensor& a, const Tensor& b) {
  if (either_recorded(a, b)) return recorder(&AutogradTable::mul, "mul")(a, b);
  return detail::binary<detail::Mul>(a, b, "mul");
}

Tensor div(const Tensor& a, const Tensor& b) {
  if (either_recorded(a, b)) return recorder(&AutogradTable::div, "div")(a, b);
  return detail::binary<detail::Div>(a, b, "div");
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  if (either_recorded(a, b)) return recorder(&AutogradTable::maximum, "maximum")(a, b);
  return detail::binary<detail::Maximum>(a, b, "maximum");
}

Tensor operator+(const Tensor& a, double b) {
  if (is_recorded(a)) return recorder(&AutogradTable::add_scalar, "add")(a, b);
  detail::check_computable(a, "add");
  const DType dtype = detail::with_number(a);
  return detail::binary<detail::Add>(detail::cast(a, dtype), Tensor::scalar(b, dtype), "add");
}

Tensor operator-(const Tensor& a, double b) { return a + (-b); }

Tensor operator*(const Tensor& a, double b) {
  if (is_recorded(a)) return recorder(&AutogradTable::mul_scalar, "mul")(a, b);
  detail::check_computable(a, "mul");
  const DType dtype = detail::with_number(a);
  return detail::binary<detail::Mul>(detail::cast(a, dtype), Tensor::scalar(b, dtype), "mul");
}

Tensor operator/(const Tensor& a, double b) {
  detail::check_computable(a, "div");
  return div(a, Tensor::scalar(b, detail::with_number(a)));
}

Tensor eq(const Tensor& a, const Tensor& b) { return detail::compare<detail::Eq>(a, b, "eq"); }
Tensor lt(const Tensor& a, const Tensor& b) { return detail::compare<detail::Lt>(a, b, "lt"); }
Tensor gt(const Tensor& a, const Tensor& b) { return detail::compare<detail::Gt>(a, b, "gt"); }

}  // namespace plab
