#pragma once
// SPDX-License-Identifier: Apache-2.0
// Element types, with PyTorch's names in print and short names in code.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plab {

/// kF16 and kBF16 are for storage: they convert to and from the others and take part in no
/// arithmetic (an operation on them throws DTypeError that says to convert first).
enum class DType : std::uint8_t { kF32, kF64, kI32, kI64, kU8, kBool, kF16, kBF16 };

/// Bytes of one element.
[[nodiscard]] std::size_t item_size(DType dtype) noexcept;
/// "float32", "int64" ...: PyTorch's name without "torch.".
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;
/// kF32, kF64, kF16 and kBF16.
[[nodiscard]] bool is_floating(DType dtype) noexcept;
/// The result type of an operation on both, by PyTorch's promotion table (torch.promote_types):
/// bool < whole numbers < floating, then the wider; kF16 with kBF16 gives kF32.
[[nodiscard]] DType promote(DType a, DType b);

/// The DType of a C++ type, as DTypeOf<T>::kValue or dtype_of<T>.
template <typename T>
struct DTypeOf;  // a type without a specialisation is no element type
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kF64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType kValue = DType::kI32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType kValue = DType::kI64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType kValue = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
};

template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::kValue;

}  // namespace plab
