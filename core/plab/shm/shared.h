#pragma once
// SPDX-License-Identifier: Apache-2.0
// An object in shared memory.

#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "plab/base/error.h"
#include "plab/shm/block.h"

namespace plab::shm {

namespace detail {
/// A number for a type, the same in every process of one program.
[[nodiscard]] std::uint64_t type_number(const std::type_info& type) noexcept;
/// @throws CorruptError when the block does not hold an object of that type and size
void check_shared(const Block& block, const std::type_info& type, std::size_t size);
inline constexpr std::size_t kSharedOffset = 64;
}  // namespace detail

/// A T in a block of its own, with a reference to it: what a Lock or an Event of mp holds. Copies
/// stand for the same T. T has no destructor to run, no pointers, and bears being seen at different
/// addresses.
/// @fork the child has the same T
template <typename T>
class Shared {
  static_assert(std::is_standard_layout_v<T> && std::is_trivially_destructible_v<T>,
                "an object in shared memory has fixed layout and nothing to destroy");
  static_assert(alignof(T) <= detail::kSharedOffset);

 public:
  Shared() = default;
  /// Makes a T from `args`. @throws ResourceError as Block::allocate, and what T's constructor
  /// throws
  template <typename... Args>
  [[nodiscard]] static Shared create(Args&&... args) {
    Shared made(
        Block::allocate(Bytes{detail::kSharedOffset + sizeof(T)}, BlockKind::kSync, Fill::kZero));
    ::new (made.block_.data() + detail::kSharedOffset) T(std::forward<Args>(args)...);
    *std::launder(reinterpret_cast<std::uint64_t*>(made.block_.data())) =
        detail::type_number(typeid(T));
    return made;
  }
  /// The T in a block that was received. @throws CorruptError when it holds something else
  [[nodiscard]] static Shared adopt(Block block) {
    detail::check_shared(block, typeid(T), sizeof(T));
    return Shared(std::move(block));
  }
  /// @throws as Block::receive and adopt
  [[nodiscard]] static Shared receive(const Handle& handle) {
    return adopt(Block::receive(handle));
  }
  [[nodiscard]] Handle send() const { return block_.send(); }

  [[nodiscard]] T* get() const noexcept { return block_ ? object() : nullptr; }
  /// Not for an empty one.
  [[nodiscard]] T& operator*() const noexcept { return *object(); }
  [[nodiscard]] T* operator->() const noexcept { return object(); }
  [[nodiscard]] const Block& block() const noexcept { return block_; }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(block_); }

 private:
  explicit Shared(Block block) noexcept : block_(std::move(block)) {}
  [[nodiscard]] T* object() const noexcept {
    return std::launder(reinterpret_cast<T*>(block_.data() + detail::kSharedOffset));
  }
  Block block_;
};

}  // namespace plab::shm
