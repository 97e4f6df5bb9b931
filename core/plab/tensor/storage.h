#pragma once
// SPDX-License-Identifier: Apache-2.0
// The bytes behind tensors. Several tensors (views) share one storage; where the bytes live, on the
// heap or in shared memory, is the storage's own affair and can change under its tensors once, when
// share_memory() moves them.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plab/shm/block.h"

namespace plab {

enum class MemoryKind : std::uint8_t { kHeap, kShared, kNamed };

/// A reference to bytes; copies share them. Not thread-safe against share_memory(), as in PyTorch.
class Storage {
 public:
  Storage() = default;
  /// @throws ResourceError when the memory cannot be had; the message names the size
  [[nodiscard]] static Storage heap(std::size_t bytes);
  /// In this process's arena (default) or in a named segment, by the current sharing strategy.
  [[nodiscard]] static Storage shared(std::size_t bytes);
  /// The bytes of a block that was received; one block is one storage in a process.
  [[nodiscard]] static Storage adopt(shm::Block block);

  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] MemoryKind kind() const noexcept;
  [[nodiscard]] bool is_shared() const noexcept { return kind() != MemoryKind::kHeap; }
  /// Moves the bytes to shared memory in place: every view sees it. A no-op when they are there.
  void share_memory();
  /// The block behind shared bytes. @throws ContractError for heap bytes
  [[nodiscard]] const shm::Block& block() const;
  [[nodiscard]] bool is_same(const Storage& other) const noexcept { return impl_ == other.impl_; }
  [[nodiscard]] long use_count() const noexcept { return impl_.use_count(); }
  /// How often this process changed the bytes by an in-place operation. Backward compares it, to
  /// refuse a saved tensor that was changed since. Writes through data() and by other processes do
  /// not count.
  [[nodiscard]] std::uint64_t version() const noexcept;
  /// Counts one in-place change. @threads any
  void bump_version() const noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return impl_ != nullptr; }

 private:
  struct Impl;
  explicit Storage(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace plab
