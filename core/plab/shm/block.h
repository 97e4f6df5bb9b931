#pragma once
// SPDX-License-Identifier: Apache-2.0
// A piece of shared memory and this process's reference to it. (What tensor and mp build on;
// arena.h and registry.h hold how it works.)

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "plab/base/types.h"

namespace plab::shm {

/// What a process needs to find a block again: travels in messages, never trusted.
struct Handle {
  std::uint64_t arena = 0;   ///< random number of the arena; 0: an empty block
  std::uint64_t offset = 0;  ///< of the first byte, from the start of the arena
  std::uint64_t bytes = 0;
  std::uint32_t block = 0;  ///< index in the arena's table; kNamedBlock: a named segment, whose
                            ///< name is made of the other fields
  std::uint32_t generation = 0;  ///< changes each time the block is given out
  friend bool operator==(const Handle&, const Handle&) = default;
};
static_assert(sizeof(Handle) == 32);
inline constexpr std::uint32_t kNamedBlock = 0xffffffff;

/// What a block is for; decides what is done when its last reference goes (see set_finalizer).
enum class BlockKind : std::uint32_t { kPlain, kSync, kRing, kArguments };
inline constexpr std::uint32_t kBlockKinds = 4;

/// What the bytes of a new block hold. kNone: anything, also what other blocks of this process held
/// before; for a caller that overwrites all of it.
enum class Fill { kZero, kNone };

/// A counted reference to a block; copies of it in one process share the count. While any process
/// has one, or a message with its handle is under way, the bytes stay. A process that is killed
/// loses its references (collect() and sweep_holder() in reclaim.h see to it); memory goes with the
/// last process in any case.
/// @threads as std::shared_ptr: different Blocks of one block from any threads
/// @fork the child has references of its own to all blocks that the parent held, before fork(2)
/// returns in either. Where the holder table of an arena is full (256 processes), the child ends
/// with exit code 71 and a line in the log: it could not keep the bytes alive.
class Block {
 public:
  Block() = default;
  Block(const Block& other) noexcept;
  Block(Block&& other) noexcept : ref_(std::exchange(other.ref_, nullptr)) {}
  Block& operator=(Block other) noexcept {
    std::swap(ref_, other.ref_);
    return *this;
  }
  ~Block();

  /// Bytes in this process's arena, aligned to 64, from 4 KiB on to 4 KiB. Zero bytes give an empty
  /// block: no memory.
  /// @throws ResourceError naming the size and what is left: of memory (MemAvailable, the control
  /// group), address space, descriptors
  [[nodiscard]] static Block allocate(Bytes size, BlockKind kind = BlockKind::kPlain,
                                      Fill fill = Fill::kZero);
  /// Zero bytes in a named segment of /dev/shm, for programs that are not plab's (segment.h).
  /// @throws ResourceError naming the size and the free space when /dev/shm is too small
  [[nodiscard]] static Block allocate_named(Bytes size);
  /// By the current sharing strategy: allocate or allocate_named (strategy.h).
  [[nodiscard]] static Block allocate_shared(Bytes size, Fill fill = Fill::kZero);

  /// Takes over the reference that `send` put under way. Twice the same block is one reference.
  /// @throws CorruptError for a handle that is not valid (unknown arena, wrong generation, outside,
  /// nothing under way); ResourceError when the arena cannot be mapped for want of descriptors or
  /// address space, or has 256 holders: the reference stays under way then
  [[nodiscard]] static Block receive(const Handle& handle);
  /// Gives back a reference under way that nobody will receive. @throws as receive
  static void discard(const Handle& handle);

  /// A handle with one more reference under way: exactly one receive() or discard() must follow.
  /// The sender may exit at once. An empty block gives an empty handle.
  /// @throws ResourceError when 131,071 references to one block are under way
  [[nodiscard]] Handle send() const;

  [[nodiscard]] std::byte* data() const noexcept;  ///< nullptr for an empty block
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] BlockKind kind() const noexcept;
  /// To compare and to print; no reference goes along.
  [[nodiscard]] Handle handle() const noexcept;
  [[nodiscard]] bool is_named() const noexcept;
  /// "/plab_..." for a named block, empty otherwise.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is_same(const Block& other) const noexcept { return ref_ == other.ref_; }
  [[nodiscard]] explicit operator bool() const noexcept { return ref_ != nullptr; }

  struct Ref;  ///< defined in registry.h

 private:
  explicit Block(Ref* ref) noexcept : ref_(ref) {}
  Ref* ref_ = nullptr;
};

}  // namespace plab::shm
