// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/tensor.h"

#include <cstring>

#include "plab/tensor/convert.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

namespace detail {

namespace {

bool is_row_major(const Shape& sizes, const Shape& strides) noexcept {
  std::int64_t step = 1;
  for (std::size_t i = sizes.dims(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1 && strides[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

}  // namespace

Tensor TensorAccess::make(Storage storage, DType dtype, const Shape& sizes, const Shape& strides,
                          std::int64_t offset) {
  auto impl = std::make_shared<Tensor::Impl>();
  impl->storage = std::move(storage);
  impl->sizes = sizes;
  impl->strides = strides;
  impl->offset = offset;
  impl->numel = sizes.numel();
  impl->dtype = dtype;
  impl->contiguous = impl->numel == 0 || is_row_major(sizes, strides);
  return Tensor(std::move(impl));
}

Tensor TensorAccess::make_dense(Storage storage, DType dtype, const Shape& sizes,
                                std::int64_t numel) {
  auto impl = std::make_shared<Tensor::Impl>();
  impl->storage = std::move(storage);
  impl->sizes = sizes;
  impl->strides = sizes.contiguous_strides();
  impl->numel = numel;
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

Tensor TensorAccess::view(const Tensor& base, const Shape& sizes, const Shape& strides,
                          std::int64_t offset) {
  const Tensor::Impl& impl = base.impl();
  return make(impl.storage, impl.dtype, sizes, strides, offset);
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  return fmt::format("{} {}", name_of(tensor.dtype()), tensor.sizes().str());
}

std::size_t wrap_dim(std::int64_t dim, std::size_t dims, std::string_view operation) {
  // a scalar takes 0 and -1, as in PyTorch
  const auto count = static_cast<std::int64_t>(dims == 0 ? 1 : dims);
  if (dim < -count || dim >= count) {
    throw ShapeError(
        fmt::format("[tensor.{}] dimension {} of a tensor with {} dimensions; valid are {} to {}",
                    operation, dim, dims, -count, count - 1));
  }
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

void throw_half_arithmetic(DType dtype) {
  throw DTypeError(fmt::format(
      "[tensor.dtype] {} is for storage and takes part in no arithmetic; convert it with "
      "to(DType::kF32)",
      name_of(dtype)));
}

void throw_not_floating(DType dtype, std::string_view operation) {
  throw DTypeError(fmt::format(
      "[tensor.{0}] {1} is not valid here; {0} takes float32 or float64, convert with to()",
      operation, name_of(dtype)));
}

void check_computable(const Tensor& tensor, std::string_view operation) {
  if (!tensor.defined()) {
    throw ContractError(fmt::format("[tensor.{}] an undefined tensor as operand", operation));
  }
  const DType dtype = tensor.dtype();
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    throw DTypeError(fmt::format(
        "[tensor.{}] {}: {} is for storage and takes part in no arithmetic; convert it with "
        "to(DType::kF32)",
        operation, describe(tensor), name_of(dtype)));
  }
}

}  // namespace detail

using detail::TensorAccess;

// --- making one -----------------------------------------------------------------------------

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  const std::int64_t numel = shape.numel();
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(numel), item_size(dtype), &bytes)) {
    throw ShapeError(fmt::format("[tensor.empty] {} of {} has more than 2^64 - 1 bytes",
                                 shape.str(), name_of(dtype)));
  }
  return TensorAccess::make_dense(Storage::heap(bytes), dtype, shape, numel);
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor out = empty(shape, dtype);
  if (out.numel() > 0) std::memset(out.raw_data(), 0, out.storage().bytes());
  return out;
}

Tensor Tensor::ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }

Tensor Tensor::full(const Shape& shape, double value, DType dtype) {
  Tensor out = empty(shape, dtype);
  out.fill_(value);
  return out;
}

Tensor Tensor::scalar(double value, DType dtype) { return full(Shape{}, value, dtype); }

Tensor Tensor::arange(std::int64_t end, DType dtype) {
  if (end < 0) {
    throw ShapeError(fmt::format("[tensor.arange] end {} is negative; give 0 or more", end));
  }
  Tensor out = empty(Shape{end}, dtype);
  detail::visit_any(dtype, [&]<typename T>() {
    auto* const to = static_cast<T*>(out.raw_data());
    for (std::int64_t i = 0; i < end; ++i) to[i] = detail::convert<T>(i);
  });
  return out;
}

Tensor Tensor::copy_of(const void* values, std::size_t count, const Shape& shape, DType dtype) {
  Tensor out = empty(shape, dtype);
  if (static_cast<std::size_t>(out.numel()) != count) {
    throw ShapeError(fmt::format("[tensor.of] {} values for shape {}, which takes {}", count,
                                 shape.str(), out.numel()));
  }
  if (count > 0) std::memcpy(out.raw_data(), values, count * item_size(dtype));
  return out;
}

Tensor Tensor::view_of(Storage storage, DType dtype, const Shape& sizes, const Shape& strides,
                       std::int64_t offset) {
  const auto refuse = [&](std::string_view problem) {
    throw ShapeError(fmt::format(
        "[tensor.view_of] {}: sizes {}, strides {}, offset {} of {} in a storage of {} bytes",
        problem, sizes.str(), strides.str(), offset, name_of(dtype), storage.bytes()));
  };
  if (sizes.dims() != strides.dims()) refuse("as many strides as sizes are needed");
  if (offset < 0) refuse("the offset is negative");
  std::int64_t last = offset;  // the farthest element that the view reaches
  bool bad = false;
  for (std::size_t i = 0; i < sizes.dims(); ++i) {
    if (sizes[i] < 0) refuse("a size is negative");
    if (strides[i] < 0) refuse("a stride is negative");
    std::int64_t reach = 0;
    if (sizes[i] > 1) bad |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach);
    bad |= __builtin_add_overflow(last, reach, &last);
  }
  const auto held = static_cast<std::int64_t>(storage.bytes() / item_size(dtype));
  const bool none = sizes.numel() == 0;
  if (bad || (none ? offset > held : last >= held)) refuse("the view reaches outside");
  return TensorAccess::make(std::move(storage), dtype, sizes, strides, offset);
}

// --- what it is -----------------------------------------------------------------------------

Tensor::Impl& Tensor::impl() const {
  if (!impl_) {
    throw ContractError(
        "[tensor.tensor] the tensor is undefined (made by Tensor()); make it with Tensor::zeros, "
        "Tensor::of ... first, or ask defined()");
  }
  return *impl_;
}

const Shape& Tensor::sizes() const { return impl().sizes; }
const Shape& Tensor::strides() const { return impl().strides; }
std::int64_t Tensor::dim() const { return static_cast<std::int64_t>(impl().sizes.dims()); }
std::int64_t Tensor::numel() const { return impl().numel; }
DType Tensor::dtype() const { return impl().dtype; }
std::int64_t Tensor::storage_offset() const { return impl().offset; }
const Storage& Tensor::storage() const { return impl().storage; }
bool Tensor::is_contiguous() const { return impl().contiguous; }

std::int64_t Tensor::size(std::int64_t dim) const {
  const Shape& shape = impl().sizes;
  if (shape.dims() == 0) {
    throw ShapeError("[tensor.size] a scalar has no dimension; its shape is []");
  }
  return shape[detail::wrap_dim(dim, shape.dims(), "size")];
}

void* Tensor::raw_data() const {
  const Impl& self = impl();
  std::byte* const base = self.storage.data();
  if (base == nullptr) return nullptr;
  return base + static_cast<std::size_t>(self.offset) * item_size(self.dtype);
}

void Tensor::check_dtype(DType wanted) const {
  if (impl().dtype != wanted) {
    throw DTypeError(fmt::format("[tensor.data] data<{}>() of a tensor {}; convert with to() first",
                                 name_of(wanted), detail::describe(*this)));
  }
}

void Tensor::check_one_element() const {
  if (impl().numel != 1) {
    throw ShapeError(fmt::format("[tensor.item] item() of a tensor {}; it takes one element",
                                 detail::describe(*this)));
  }
}

std::int64_t Tensor::offset_of(std::span<const std::int64_t> index) const {
  const Impl& self = impl();
  if (index.size() != self.sizes.dims()) {
    throw ShapeError(fmt::format("[tensor.at] {} indices for a tensor {}; give {}", index.size(),
                                 detail::describe(*this), self.sizes.dims()));
  }
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::int64_t size = self.sizes[i];
    if (index[i] < -size || index[i] >= size) {
      throw ShapeError(
          fmt::format("[tensor.at] index {} in dimension {} of size {}", index[i], i, size));
    }
    offset += (index[i] < 0 ? index[i] + size : index[i]) * self.strides[i];
  }
  return offset;
}

double Tensor::element_as_double(std::int64_t offset) const {
  return detail::visit_any(impl().dtype, [&]<typename T>() {
    return detail::convert<double>(static_cast<const T*>(raw_data())[offset]);
  });
}

std::int64_t Tensor::element_as_integer(std::int64_t offset) const {
  return detail::visit_any(impl().dtype, [&]<typename T>() {
    return detail::convert<std::int64_t>(static_cast<const T*>(raw_data())[offset]);
  });
}

// --- sharing --------------------------------------------------------------------------------

const Tensor& Tensor::share_memory() const {
  Impl& self = impl();
  self.storage.share_memory();
  if (self.autograd && self.autograd->grad.defined()) self.autograd->grad.share_memory();
  return *this;
}

bool Tensor::is_shared() const { return impl().storage.is_shared(); }

}  // namespace plab
