#pragma once
// SPDX-License-Identifier: Apache-2.0
// Sizes and strides of a tensor: at most eight dimensions, held in place.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace plab {

/// A short list of whole numbers: sizes or strides in elements.
class Shape {
 public:
  static constexpr std::size_t kMaxDims = 8;

  constexpr Shape() = default;
  Shape(std::initializer_list<std::int64_t> values);
  /// @throws ShapeError when there are more than kMaxDims
  explicit Shape(std::span<const std::int64_t> values);

  [[nodiscard]] std::size_t dims() const noexcept { return dims_; }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  [[nodiscard]] std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  [[nodiscard]] const std::int64_t* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const std::int64_t* end() const noexcept { return values_.data() + dims_; }
  [[nodiscard]] std::int64_t* begin() noexcept { return values_.data(); }
  [[nodiscard]] std::int64_t* end() noexcept { return values_.data() + dims_; }

  /// The product of all sizes; 1 for a scalar. @throws ShapeError on a negative size or overflow
  [[nodiscard]] std::int64_t numel() const;
  /// Row-major strides for these sizes.
  [[nodiscard]] Shape contiguous_strides() const;
  /// "[2, 3]"
  [[nodiscard]] std::string str() const;

  void push_back(std::int64_t value);
  void erase(std::size_t i);
  void insert(std::size_t i, std::int64_t value);

  friend bool operator==(const Shape& a, const Shape& b) noexcept;

 private:
  std::array<std::int64_t, kMaxDims> values_{};
  std::size_t dims_ = 0;
};

/// The shape that both broadcast to (trailing dimensions equal, or one of them 1).
/// @throws ShapeError naming both shapes, the dimension and `operation`
[[nodiscard]] Shape broadcast(const Shape& a, const Shape& b, std::string_view operation);

}  // namespace plab
