#pragma once
// SPDX-License-Identifier: Apache-2.0
// A piece of shared memory and this process's reference to it. (The contract that tensor and mp
// build on; shm/arena.h holds how it works.)

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plab/base/types.h"

namespace plab::shm {

/// What a process needs to find a block again: travels in messages, never trusted.
struct Handle {
  std::uint64_t arena = 0;   ///< random number of the arena; 0: an empty block
  std::uint64_t offset = 0;  ///< of the first byte, from the start of the arena
  std::uint64_t bytes = 0;
  std::uint32_t block = 0;       ///< index in the arena's table
  std::uint32_t generation = 0;  ///< changes each time the block is given out
};
static_assert(sizeof(Handle) == 32);

/// What a block is for; decides what is done when its last reference goes.
enum class BlockKind : std::uint32_t { kPlain, kSync, kRing, kArguments };

/// A counted reference to a block; copies of it in one process share the count. While any process
/// has one, or a message with its handle is under way, the bytes stay.
/// @fork the child has references of its own to all blocks that the parent held
class Block {
 public:
  Block() = default;
  /// Zeroed bytes in this process's arena, aligned to 64. Zero bytes give an empty block: no
  /// memory.
  /// @throws ResourceError naming the size and what is left
  [[nodiscard]] static Block allocate(Bytes size, BlockKind kind = BlockKind::kPlain);
  /// Takes over the reference that `send` put under way. Twice the same block is one reference.
  /// @throws CorruptError for a handle that is not valid (unknown arena, wrong generation, outside)
  [[nodiscard]] static Block receive(const Handle& handle);
  /// Gives back a reference under way that nobody will receive.
  static void discard(const Handle& handle);

  /// A handle with one more reference under way: exactly one receive() or discard() must follow.
  /// The sender may exit at once.
  [[nodiscard]] Handle send() const;

  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] BlockKind kind() const noexcept;
  [[nodiscard]] Handle handle()
      const noexcept;  ///< to compare and to print; no reference goes along
  [[nodiscard]] bool is_same(const Block& other) const noexcept { return ref_ == other.ref_; }
  [[nodiscard]] explicit operator bool() const noexcept { return ref_ != nullptr; }

 private:
  struct Ref;
  explicit Block(std::shared_ptr<Ref> ref) noexcept : ref_(std::move(ref)) {}
  std::shared_ptr<Ref> ref_;
};

}  // namespace plab::shm
