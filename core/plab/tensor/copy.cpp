// SPDX-License-Identifier: Apache-2.0
// Copies, conversions and what changes a tensor in place.
#include <cmath>
#include <cstring>

#include "plab/tensor/convert.h"
#include "plab/tensor/elementwise.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/strided.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

using detail::describe;
using detail::recorder;

namespace detail {

namespace {

template <typename To, typename From>
void copy_rows(const Nest<2>& nest, To* to, const From* from) {
  nest.for_each_row([=](std::int64_t n, const std::array<RowOf, 2>& row) {
    To* const out = to + row[0].offset;
    const From* const in = from + row[1].offset;
    if (row[0].step == 1 && row[1].step == 1) {
      if constexpr (std::is_same_v<To, From>) {
        std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(To));
      } else {
        for (std::int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
      }
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      out[i * row[0].step] = convert<To>(in[i * row[1].step]);
    }
  });
}

}  // namespace

void copy_elements(const Tensor& target, const Tensor& source) {
  if (target.numel() == 0) return;
  const Shape& shape = target.sizes();
  const Nest<2> nest(
      shape, {target.strides(), broadcast_strides(source.sizes(), source.strides(), shape)});
  visit_any(target.dtype(), [&]<typename To>() {
    visit_any(source.dtype(), [&]<typename From>() {
      copy_rows(nest, static_cast<To*>(target.raw_data()),
                static_cast<const From*>(source.raw_data()));
    });
  });
}

Tensor cast(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor out = Tensor::empty(tensor.sizes(), dtype);
  copy_elements(out, tensor);
  return out;
}

Tensor dense(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  Tensor out = Tensor::empty(tensor.sizes(), tensor.dtype());
  copy_elements(out, tensor);
  return out;
}

void check_writable(const Tensor& target, const Tensor& source, std::string_view operation) {
  check_in_place(target, operation);
  if (source.defined() && is_recorded(source)) {
    throw ContractError(fmt::format(
        "[tensor.{}] an in-place operation on {} with an operand that requires grad ({}) is not "
        "recorded; use the operation that makes a new tensor, detach() the operand, or work under "
        "NoGrad",
        operation, describe(target), describe(source)));
  }
  for (std::size_t i = 0; i < target.sizes().dims(); ++i) {
    if (target.strides()[i] == 0 && target.sizes()[i] > 1) {
      throw ContractError(fmt::format(
          "[tensor.{}] several elements of the target {} are one in memory (it was expanded); "
          "clone() it first",
          operation, describe(target)));
    }
  }
  target.storage().bump_version();
}

Tensor apart(const Tensor& target, const Tensor& source) {
  if (!source.storage().is_same(target.storage())) return source;
  const bool same_view = source.storage_offset() == target.storage_offset() &&
                         source.sizes() == target.sizes() && source.strides() == target.strides() &&
                         source.dtype() == target.dtype();
  if (same_view) return source;
  Tensor out = Tensor::empty(source.sizes(), source.dtype());
  copy_elements(out, source);
  return out;
}

void check_broadcasts_into(const Tensor& target, const Tensor& source, std::string_view operation) {
  if (broadcast(target.sizes(), source.sizes(), operation) != target.sizes()) {
    throw ShapeError(fmt::format(
        "[tensor.{}] the target {} cannot take an operand {}: the target itself does not grow",
        operation, describe(target), describe(source)));
  }
}

}  // namespace detail

Tensor Tensor::dense_copy(DType dtype) const { return detail::dense(detail::cast(*this, dtype)); }

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  return clone();
}

Tensor Tensor::clone() const {
  if (is_recorded(*this)) return recorder(&AutogradTable::clone, "clone")(*this);
  Tensor out = empty(sizes(), dtype());
  detail::copy_elements(out, *this);
  return out;
}

Tensor Tensor::to(DType dtype) const {
  if (this->dtype() == dtype) return *this;
  if (is_recorded(*this) && is_floating(dtype)) {
    return recorder(&AutogradTable::to, "to")(*this, dtype);
  }
  return detail::cast(*this, dtype);
}

const Tensor& Tensor::copy_(const Tensor& source) const {
  static_cast<void>(source.sizes());
  detail::check_writable(*this, source, "copy_");
  detail::check_broadcasts_into(*this, source, "copy_");
  detail::copy_elements(*this, detail::apart(*this, source));
  return *this;
}

const Tensor& Tensor::fill_(double value) const {
  detail::check_writable(*this, Tensor(), "fill_");
  const detail::Nest<1> nest(sizes(), {strides()});
  detail::visit_any(dtype(), [&]<typename T>() {
    const T element = detail::convert<T>(value);
    auto* const to = static_cast<T*>(raw_data());
    nest.for_each_row([=](std::int64_t n, const std::array<detail::RowOf, 1>& row) {
      T* const out = to + row[0].offset;
      if (row[0].step == 1) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = element;
      } else {
        for (std::int64_t i = 0; i < n; ++i) out[i * row[0].step] = element;
      }
    });
  });
  return *this;
}

const Tensor& Tensor::add_(const Tensor& other, double alpha) const {
  detail::check_writable(*this, other, "add_");
  if (dtype() == other.dtype() && sizes() == other.sizes() && is_contiguous() &&
      other.is_contiguous() && is_floating(dtype()) && item_size(dtype()) >= 4 &&
      !storage().is_same(other.storage())) {
    const auto n = static_cast<std::size_t>(numel());
    if (dtype() == DType::kF32) {
      kernels::axpy(static_cast<float>(alpha), other.data<float>(), data<float>(), n);
    } else {
      kernels::axpy(alpha, other.data<double>(), data<double>(), n);
    }
    return *this;
  }
  detail::check_computable(other, "add_");
  Tensor term = other;
  if (alpha != 1) {
    if (!is_floating(other.dtype()) && alpha != std::trunc(alpha)) {
      throw DTypeError(
          fmt::format("[tensor.add_] alpha {} for an operand {}; a whole number is needed there",
                      alpha, describe(other)));
    }
    NoGrad guard;
    const DType kind = other.dtype() == DType::kBool ? DType::kI64 : other.dtype();
    term = mul(detail::cast(other, kind), Tensor::scalar(alpha, kind));
  }
  detail::binary_in_place(detail::BinaryOp::kAdd, *this, term, "add_");
  return *this;
}

const Tensor& Tensor::sub_(const Tensor& other, double alpha) const { return add_(other, -alpha); }

const Tensor& Tensor::mul_(const Tensor& other) const {
  detail::check_writable(*this, other, "mul_");
  detail::binary_in_place(detail::BinaryOp::kMul, *this, other, "mul_");
  return *this;
}

const Tensor& Tensor::mul_(double factor) const {
  detail::check_writable(*this, Tensor(), "mul_");
  detail::check_computable(*this, "mul_");
  if (dtype() == DType::kBool || (!is_floating(dtype()) && factor != std::trunc(factor))) {
    throw DTypeError(
        fmt::format("[tensor.mul_] {} times {} does not fit the target; convert it with to()",
                    describe(*this), factor));
  }
  if (is_contiguous() && dtype() == DType::kF32) {
    kernels::scale(static_cast<float>(factor), data<float>(), static_cast<std::size_t>(numel()));
  } else {
    detail::binary_in_place(detail::BinaryOp::kMul, *this, scalar(factor, dtype()), "mul_");
  }
  return *this;
}

const Tensor& Tensor::div_(const Tensor& other) const {
  detail::check_writable(*this, other, "div_");
  detail::binary_in_place(detail::BinaryOp::kDiv, *this, other, "div_");
  return *this;
}

}  // namespace plab
