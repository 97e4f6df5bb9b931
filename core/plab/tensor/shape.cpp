// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plab/base/error.h"

namespace plab {

namespace {

[[noreturn]] void throw_too_many(std::size_t dims) {
  throw ShapeError(fmt::format("[tensor.shape] {} dimensions are too many; at most {} are held",
                               dims, Shape::kMaxDims));
}

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> values)
    : Shape(std::span<const std::int64_t>(values.begin(), values.size())) {}

Shape::Shape(std::span<const std::int64_t> values) {
  if (values.size() > kMaxDims) throw_too_many(values.size());
  std::ranges::copy(values, values_.begin());
  dims_ = values.size();
}

std::int64_t Shape::numel() const {
  std::int64_t product = 1;
  bool overflow = false;
  bool negative = false;
  bool zero = false;
  for (const std::int64_t size : *this) {
    negative = negative || size < 0;
    zero = zero || size == 0;
    overflow = __builtin_mul_overflow(product, size, &product) || overflow;
  }
  if (!negative && !overflow) return product;
  if (negative) {
    throw ShapeError(
        fmt::format("[tensor.shape] a size of {} is negative; sizes are 0 or more", str()));
  }
  if (zero) return 0;
  throw ShapeError(fmt::format("[tensor.shape] {} has more than 2^63 - 1 elements", str()));
}

Shape Shape::contiguous_strides() const {
  Shape strides;
  strides.dims_ = dims_;
  std::int64_t step = 1;
  for (std::size_t i = dims_; i-- > 0;) {
    strides.values_[i] = step;
    // a size of 0 counts as 1, as in PyTorch; wraps harmlessly where numel() refuses
    step = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(step) *
        static_cast<std::uint64_t>(std::max<std::int64_t>(values_[i], 1)));
  }
  return strides;
}

std::string Shape::str() const { return fmt::format("[{}]", fmt::join(begin(), end(), ", ")); }

void Shape::push_back(std::int64_t value) {
  if (dims_ == kMaxDims) throw_too_many(dims_ + 1);
  values_[dims_++] = value;
}

void Shape::erase(std::size_t i) {
  std::copy(values_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
            values_.begin() + static_cast<std::ptrdiff_t>(dims_),
            values_.begin() + static_cast<std::ptrdiff_t>(i));
  --dims_;
}

void Shape::insert(std::size_t i, std::int64_t value) {
  push_back(value);
  std::rotate(values_.begin() + static_cast<std::ptrdiff_t>(i),
              values_.begin() + static_cast<std::ptrdiff_t>(dims_) - 1,
              values_.begin() + static_cast<std::ptrdiff_t>(dims_));
}

bool operator==(const Shape& a, const Shape& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view operation) {
  const Shape& longer = a.dims() >= b.dims() ? a : b;
  const Shape& shorter = a.dims() >= b.dims() ? b : a;
  Shape out = longer;
  const std::size_t extra = longer.dims() - shorter.dims();
  for (std::size_t i = extra; i < longer.dims(); ++i) {
    const std::int64_t x = longer[i];
    const std::int64_t y = shorter[i - extra];
    if (x != y && x != 1 && y != 1) {
      throw ShapeError(
          fmt::format("[tensor.{}] shapes {} and {} do not broadcast: {} against {} in dimension "
                      "{}; sizes must "
                      "be equal or 1, counted from the last dimension",
                      operation, a.str(), b.str(), a[i - (longer.dims() - a.dims())],
                      b[i - (longer.dims() - b.dims())], i));
    }
    out[i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace plab
