#pragma once
// SPDX-License-Identifier: Apache-2.0
// The tensor: a strided view of a storage. Copying a Tensor copies the reference, as in PyTorch.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "plab/tensor/dtype.h"
#include "plab/tensor/shape.h"
#include "plab/tensor/storage.h"

namespace plab {

class Generator;
class GradNode;       // tensor/autograd.h
struct AutogradMeta;  // tensor/autograd.h
namespace detail {
struct TensorAccess;  // tensor/tensor_impl.h
}

class Tensor {
 public:
  /// Undefined: defined() is false; every other call throws ContractError.
  Tensor() = default;

  // --- making one (all row-major) -------------------------------------------------------------
  [[nodiscard]] static Tensor empty(const Shape& shape, DType dtype = DType::kF32);
  [[nodiscard]] static Tensor zeros(const Shape& shape, DType dtype = DType::kF32);
  [[nodiscard]] static Tensor ones(const Shape& shape, DType dtype = DType::kF32);
  [[nodiscard]] static Tensor full(const Shape& shape, double value, DType dtype = DType::kF32);
  [[nodiscard]] static Tensor arange(std::int64_t end, DType dtype = DType::kI64);
  [[nodiscard]] static Tensor scalar(double value, DType dtype = DType::kF32);
  /// Copies `values`, row by row. @throws ShapeError when their number is not that of the shape
  template <typename T>
  [[nodiscard]] static Tensor of(std::span<const T> values, const Shape& shape) {
    return copy_of(values.data(), values.size(), shape, dtype_of<T>);
  }
  template <typename T>
  [[nodiscard]] static Tensor of(std::initializer_list<T> values) {
    return of<T>(std::span<const T>(values.begin(), values.size()),
                 Shape{static_cast<std::int64_t>(values.size())});
  }
  /// Uniform in [0, 1) and standard normal; the same generator state gives the same numbers.
  [[nodiscard]] static Tensor rand(const Shape& shape, Generator& generator,
                                   DType dtype = DType::kF32);
  [[nodiscard]] static Tensor randn(const Shape& shape, Generator& generator,
                                    DType dtype = DType::kF32);
  /// Whole numbers in [low, high).
  [[nodiscard]] static Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape,
                                      Generator& generator, DType dtype = DType::kI64);
  [[nodiscard]] static Tensor randperm(std::int64_t n, Generator& generator);
  /// A view of `storage`. @throws ShapeError when it would reach outside
  [[nodiscard]] static Tensor view_of(Storage storage, DType dtype, const Shape& sizes,
                                      const Shape& strides, std::int64_t offset);

  // --- what it is ----------------------------------------------------------------------------
  [[nodiscard]] bool defined() const noexcept { return impl_ != nullptr; }
  [[nodiscard]] const Shape& sizes() const;
  [[nodiscard]] const Shape& strides() const;               ///< in elements
  [[nodiscard]] std::int64_t size(std::int64_t dim) const;  ///< negative counts from the end
  [[nodiscard]] std::int64_t dim() const;
  [[nodiscard]] std::int64_t numel() const;
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] std::int64_t storage_offset() const;  ///< in elements
  [[nodiscard]] const Storage& storage() const;
  [[nodiscard]] bool is_contiguous() const;
  [[nodiscard]] bool is_same(const Tensor& other) const noexcept { return impl_ == other.impl_; }
  /// How many Tensors of this process refer to this very tensor (views of it not counted).
  [[nodiscard]] long use_count() const noexcept { return impl_.use_count(); }
  /// storage().version(): in-place operations of this process on the bytes, through any view.
  [[nodiscard]] std::uint64_t version() const { return storage().version(); }
  /// The first element. @throws DTypeError when T is not the element type
  template <typename T>
  [[nodiscard]] T* data() const {
    check_dtype(dtype_of<T>);
    return static_cast<T*>(raw_data());
  }
  /// The first element of any dtype; null for a tensor without elements on the heap.
  [[nodiscard]] void* raw_data() const;
  /// The only element, converted. @throws ShapeError when there is not exactly one
  template <typename T>
  [[nodiscard]] T item() const {
    check_one_element();
    return element<T>(0);
  }
  /// One element by its indices (bounds checked), converted; slow, for tests and prints.
  /// @throws ShapeError when the number of indices or one of them does not fit
  template <typename T>
  [[nodiscard]] T at(std::initializer_list<std::int64_t> index) const {
    return element<T>(offset_of(std::span(index.begin(), index.size())));
  }
  /// Row by row, converted as to() does it.
  template <typename T>
  [[nodiscard]] std::vector<T> to_vector() const {
    const Tensor dense = dense_copy(dtype_of<T>);
    const T* const first = dense.data<T>();
    return std::vector<T>(first, first + dense.numel());
  }
  /// As PyTorch prints it: tensor([[1., 2.], [3., 4.]])
  [[nodiscard]] std::string str() const;

  // --- views: no copy --------------------------------------------------------------------------
  [[nodiscard]] Tensor view(const Shape& shape) const;     ///< one size may be -1
  [[nodiscard]] Tensor reshape(const Shape& shape) const;  ///< a copy only where a view cannot be
  [[nodiscard]] Tensor flatten(std::int64_t start_dim = 0) const;
  [[nodiscard]] Tensor slice(std::int64_t dim, std::int64_t start, std::int64_t end,
                             std::int64_t step = 1) const;
  [[nodiscard]] Tensor narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  [[nodiscard]] Tensor select(std::int64_t dim, std::int64_t index) const;
  [[nodiscard]] Tensor operator[](std::int64_t index) const { return select(0, index); }
  [[nodiscard]] Tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  [[nodiscard]] Tensor t() const;  ///< the transpose of a matrix
  [[nodiscard]] Tensor permute(const Shape& dims) const;
  [[nodiscard]] Tensor expand(const Shape& shape) const;
  [[nodiscard]] Tensor squeeze(std::int64_t dim) const;
  [[nodiscard]] Tensor unsqueeze(std::int64_t dim) const;

  // --- copies and in-place ---------------------------------------------------------------------
  [[nodiscard]] Tensor contiguous() const;  ///< itself when it is contiguous
  [[nodiscard]] Tensor clone() const;
  [[nodiscard]] Tensor to(DType dtype) const;
  const Tensor& copy_(const Tensor& source) const;  ///< broadcasts and converts
  const Tensor& fill_(double value) const;
  const Tensor& zero_() const { return fill_(0); }
  const Tensor& add_(const Tensor& other, double alpha = 1) const;
  const Tensor& sub_(const Tensor& other, double alpha = 1) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& mul_(double factor) const;
  const Tensor& div_(const Tensor& other) const;
  const Tensor& uniform_(double low, double high, Generator& generator) const;
  const Tensor& normal_(double mean, double std, Generator& generator) const;

  // --- sharing ---------------------------------------------------------------------------------
  /// Moves the whole storage (not only this view) to shared memory, in place, and its gradient's
  /// if it has one. Returns itself. A no-op when it is shared.
  const Tensor& share_memory() const;
  [[nodiscard]] bool is_shared() const;

  // --- gradients: held here, computed by nn ----------------------------------------------------
  [[nodiscard]] bool requires_grad() const noexcept;
  /// @throws ContractError for a tensor that is not floating, or not a leaf
  const Tensor& requires_grad_(bool on = true) const;
  [[nodiscard]] bool is_leaf() const noexcept;
  [[nodiscard]] Tensor grad() const;  ///< undefined when there is none
  void set_grad(const Tensor& grad) const;
  [[nodiscard]] Tensor detach() const;  ///< the same bytes without history
  /// From now on this tensor, wherever it is held, refers to the elements of `source`; its gradient
  /// side stays. As torch's `parameter.data = source`: how a module in another process comes to use
  /// the shared parameters. @throws ShapeError when shape or dtype differ
  const Tensor& set_data(const Tensor& source) const;
  /// Fills grad() of every leaf that this (one element, or with `gradient`) was computed from.
  void backward(const Tensor& gradient = Tensor()) const;
  /// Called with the gradient of this tensor as soon as it is complete; it may return another one.
  /// Returns a number for remove_hook.
  std::size_t register_hook(std::function<Tensor(const Tensor&)> hook) const;
  void remove_hook(std::size_t number) const;

  [[nodiscard]] AutogradMeta* autograd() const noexcept;  ///< null when it has none
  [[nodiscard]] AutogradMeta& autograd_or_create() const;

 private:
  struct Impl;
  friend struct detail::TensorAccess;
  explicit Tensor(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
  [[nodiscard]] static Tensor copy_of(const void* values, std::size_t count, const Shape& shape,
                                      DType dtype);
  [[nodiscard]] Impl& impl() const;
  [[nodiscard]] Tensor dense_copy(DType dtype) const;  // contiguous, not recorded
  void check_dtype(DType wanted) const;
  void check_one_element() const;
  [[nodiscard]] std::int64_t offset_of(std::span<const std::int64_t> index) const;
  // The element `offset` elements after the first; whole numbers do not go through a double.
  [[nodiscard]] double element_as_double(std::int64_t offset) const;
  [[nodiscard]] std::int64_t element_as_integer(std::int64_t offset) const;
  template <typename T>
  [[nodiscard]] T element(std::int64_t offset) const {
    if constexpr (std::is_same_v<T, bool>) return element_as_double(offset) != 0;
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(element_as_double(offset));
    return static_cast<T>(element_as_integer(offset));
  }

  std::shared_ptr<Impl> impl_;
};

}  // namespace plab
