#pragma once
// SPDX-License-Identifier: Apache-2.0
// Element-wise helpers that several files of this layer use. Internal to it; nothing is recorded.

#include <string_view>

#include "plab/tensor/tensor.h"

namespace plab::detail {

enum class BinaryOp { kAdd, kSub, kMul, kDiv, kMaximum };

/// The dtype of an operation on both: promote(), but a scalar (no dimensions) changes the dtype of
/// a tensor only when its category is higher, as torch.result_type.
[[nodiscard]] DType result_type(const Tensor& a, const Tensor& b);

/// target = target op other, broadcasting and converting `other`. The caller did check_writable.
/// @throws DTypeError when the result's category does not fit the target (int += float)
void binary_in_place(BinaryOp op, const Tensor& target, const Tensor& other,
                     std::string_view operation);

/// target = source, element by element; source broadcasts. No checks; they must not overlap.
void copy_elements(const Tensor& target, const Tensor& source);
/// Converted, or itself.
[[nodiscard]] Tensor cast(const Tensor& tensor, DType dtype);
/// Row-major, or itself.
[[nodiscard]] Tensor dense(const Tensor& tensor);
/// `source`, or a copy of it where writing `target` would change what is still to be read.
[[nodiscard]] Tensor apart(const Tensor& target, const Tensor& source);
/// Refuses to write a tensor whose elements share memory, and what would have to be recorded.
void check_writable(const Tensor& target, const Tensor& source, std::string_view operation);
/// @throws ShapeError when `source` does not broadcast to the shape of `target`
void check_broadcasts_into(const Tensor& target, const Tensor& source, std::string_view operation);

}  // namespace plab::detail
