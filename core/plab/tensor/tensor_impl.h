#pragma once
// SPDX-License-Identifier: Apache-2.0
// What is behind a Tensor, and the helpers that the files of this layer share. Internal to it.

#include <string>
#include <string_view>
#include <utility>

#include "plab/base/error.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/half.h"
#include "plab/tensor/tensor.h"

namespace plab {

struct Tensor::Impl {
  Storage storage;
  Shape sizes;
  Shape strides;
  std::int64_t offset = 0;
  std::int64_t numel = 0;
  DType dtype = DType::kF32;
  bool contiguous = true;
  std::unique_ptr<AutogradMeta> autograd;
};

namespace detail {

struct TensorAccess {
  /// The view, unchecked: the caller knows that it stays inside the storage.
  [[nodiscard]] static Tensor make(Storage storage, DType dtype, const Shape& sizes,
                                   const Shape& strides, std::int64_t offset);
  /// Row-major on a storage of its own; `numel` is that of `sizes`.
  [[nodiscard]] static Tensor make_dense(Storage storage, DType dtype, const Shape& sizes,
                                         std::int64_t numel);
  /// Another view of the storage of `base`.
  [[nodiscard]] static Tensor view(const Tensor& base, const Shape& sizes, const Shape& strides,
                                   std::int64_t offset);
  [[nodiscard]] static Tensor::Impl& impl(const Tensor& tensor) { return tensor.impl(); }
  /// The element `offset` elements after the first one, unchecked.
  [[nodiscard]] static double number(const Tensor& tensor, std::int64_t offset) {
    return tensor.element_as_double(offset);
  }
  [[nodiscard]] static std::int64_t whole(const Tensor& tensor, std::int64_t offset) {
    return tensor.element_as_integer(offset);
  }
};

/// "float32 [2, 3]", for messages.
[[nodiscard]] std::string describe(const Tensor& tensor);

/// `dim` counted from the front. @throws ShapeError naming the operation and what is valid
[[nodiscard]] std::size_t wrap_dim(std::int64_t dim, std::size_t dims, std::string_view operation);

/// @throws DTypeError for kF16 and kBF16, which take part in no arithmetic
void check_computable(const Tensor& tensor, std::string_view operation);

/// The entry of the autograd table. @throws ContractError when nothing is registered
template <typename Function>
[[nodiscard]] Function recorder(Function AutogradTable::*entry, std::string_view operation) {
  if (const Function function = autograd_table().*entry) return function;
  throw ContractError("[tensor.autograd] " + std::string(operation) +
                      " of a tensor that requires grad: no tape is registered; link plab::nn, or "
                      "compute under NoGrad");
}

/// Refuses an in-place operation that would have to be recorded.
void check_in_place(const Tensor& target, std::string_view operation);

/// Calls body.template operator()<T>() with the C++ type of a dtype that takes part in arithmetic.
/// @throws DTypeError for kF16 and kBF16
[[noreturn]] void throw_half_arithmetic(DType dtype);
template <typename Body>
decltype(auto) visit(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32:
      return body.template operator()<float>();
    case DType::kF64:
      return body.template operator()<double>();
    case DType::kI32:
      return body.template operator()<std::int32_t>();
    case DType::kI64:
      return body.template operator()<std::int64_t>();
    case DType::kU8:
      return body.template operator()<std::uint8_t>();
    case DType::kBool:
      return body.template operator()<bool>();
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  throw_half_arithmetic(dtype);
}

/// The same for every dtype; kF16 and kBF16 come as Half and BFloat16.
template <typename Body>
decltype(auto) visit_any(DType dtype, Body&& body) {
  if (dtype == DType::kF16) return body.template operator()<Half>();
  if (dtype == DType::kBF16) return body.template operator()<BFloat16>();
  return visit(dtype, std::forward<Body>(body));
}

/// float and double only; `operation` is named in the error.
[[noreturn]] void throw_not_floating(DType dtype, std::string_view operation);
template <typename Body>
decltype(auto) visit_floating(DType dtype, std::string_view operation, Body&& body) {
  if (dtype == DType::kF32) return body.template operator()<float>();
  if (dtype == DType::kF64) return body.template operator()<double>();
  throw_not_floating(dtype, operation);
}

}  // namespace detail
}  // namespace plab
