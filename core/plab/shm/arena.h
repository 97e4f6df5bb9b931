#pragma once
// SPDX-License-Identifier: Apache-2.0
// An arena: one memfd that holds many blocks, and the protocol by which processes that may be
// killed at any instruction agree on when a block is free.
//
//   page 0..        header, holder table, bitmaps of returned blocks
//   entries_at      one BlockEntry of 64 bytes for each block
//   data_at         the blocks
//
// Only the process that made an arena gives blocks out of it (allocator.h). Every process that uses
// one has a slot in the holder table; bit s of a block's mask says that the process of slot s has a
// reference. The word of a block holds its state, a count of references under way in messages, and
// a version that changes whenever a reference comes into being that no mask showed before.
//
// A block is free when no bit is set and nothing is under way. Both are in different words, so:
// read the word; if nothing is under way, read the masks; if they are empty, compare-and-swap the
// word that was read to "free". What can happen between reading and swapping:
//   1. Somebody sends: the version changes, the swap fails, look again. (Who sends has a bit; it
//   may
//      be cleared before its mask is read.)
//   2. Somebody receives what was under way before the read: then something was under way at the
//      read, and the block was not taken for free.
//   3. A child is forked: it sets its bit, then changes the version, then its parent goes on. A
//   scan
//      that read the child's mask word before and the parent's after fails at the swap.
//   4. Another one frees it first: the swap fails; the state is not "used" any more.
//   5. It was freed and given out again: the generation differs, the swap fails.
// What a kill at any instruction leaves (always more references than there are, never fewer):
//   a. send, before the handle is in a message: one reference under way that nobody receives.
//   b. receive, bit set but still counted as under way: the same, and the bit is swept.
//   c. let go, bit cleared but the block not freed: nobody refers to it. A sweep frees such blocks.
//   d. freed but not marked as returned: the owner's scan finds it.
//   e. in a finalizer: the word names the slot; who sweeps the slot runs the finalizer again.
// a and b last until the arena goes.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

#include "plab/base/types.h"
#include "plab/os/mapping.h"
#include "plab/os/process.h"
#include "plab/os/unique_fd.h"
#include "plab/shm/block.h"

namespace plab::shm {

/// What blocks over 4 KiB are multiples of.
inline constexpr std::uint64_t kPage = 4096;

inline constexpr std::uint32_t kMostHolders = 256;
inline constexpr std::uint32_t kMostBlocks = 64 * 64 * 64;
inline constexpr std::uint32_t kMostInFlight = (1U << 17U) - 1;

enum class BlockState : std::uint32_t { kFree = 0, kUsed = 1, kFinalizing = 2 };

/// The word of a block, taken apart.
struct BlockWord {
  BlockState state = BlockState::kFree;
  std::uint32_t in_flight = 0;   ///< 17 bits; of a finalizing block: the slot that runs it
  std::uint32_t version = 0;     ///< 21 bits
  std::uint32_t generation = 0;  ///< 24 bits
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    return static_cast<std::uint64_t>(state) | std::uint64_t{in_flight & 0x1ffffU} << 2U |
           std::uint64_t{version & 0x1fffffU} << 19U | std::uint64_t{generation & 0xffffffU} << 40U;
  }
  [[nodiscard]] static constexpr BlockWord unpack(std::uint64_t word) noexcept {
    return {static_cast<BlockState>(word & 3U), static_cast<std::uint32_t>(word >> 2U) & 0x1ffffU,
            static_cast<std::uint32_t>(word >> 19U) & 0x1fffffU,
            static_cast<std::uint32_t>(word >> 40U)};
  }
};

struct BlockEntry {
  std::atomic<std::uint64_t> word;                    // BlockWord
  std::array<std::atomic<std::uint64_t>, 4> holders;  // bit s: the process of slot s
  // written by the owner while the block is free, fixed while it is used
  std::uint64_t offset;
  std::uint64_t bytes;
  BlockKind kind;
  std::uint32_t reserved;
};
static_assert(sizeof(BlockEntry) == 64 && std::is_standard_layout_v<BlockEntry>);
static_assert(offsetof(BlockEntry, offset) == 40 && offsetof(BlockEntry, kind) == 56);

struct ArenaHeader {
  // fixed after start
  std::uint64_t magic;
  std::uint64_t id;
  std::uint64_t bytes;
  std::uint64_t owner;  // ProcessIdentity::packed
  std::uint64_t entries_at;
  std::uint64_t data_at;
  std::uint32_t capacity;  // entries
  // written only by the owner
  std::atomic<std::uint32_t> block_top;  // entries that were ever used
  // Blocks that others have freed, as a tree of bits: a bit in `top` for each word of `groups`,
  // there for each word of `returned`, there for each block. Set from the leaf up, taken from the
  // top down; a bit that is set in vain does no harm.
  std::atomic<std::uint64_t> top;
  std::array<std::atomic<std::uint64_t>, 64> groups;
  std::array<std::atomic<std::uint64_t>, std::size_t{64} * 64> returned;
  // ProcessIdentity::packed, 0: free; with kSweeping: of the process that sweeps a dead one's
  std::array<std::atomic<std::uint64_t>, kMostHolders> holders;
};
static_assert(std::is_standard_layout_v<ArenaHeader> && offsetof(ArenaHeader, capacity) == 48);

/// This process's view of an arena. Not thread-safe but for the members that say so: the registry's
/// lock guards it.
/// @fork the child calls forget_slot() and registers anew
class Arena {
 public:
  static constexpr std::uint64_t kMagic = 0x3161'6e65'7261'7031;
  static constexpr std::uint64_t kSweeping = std::uint64_t{1} << 63U;

  /// A new arena owned by this process; `fd` receives its descriptor.
  /// @throws ResourceError when there is no address space for `bytes` or no descriptor
  [[nodiscard]] static std::shared_ptr<Arena> create(Bytes bytes, os::UniqueFd& fd);
  /// @throws CorruptError when the descriptor is not that of the arena `id`
  [[nodiscard]] static std::shared_ptr<Arena> open(std::uint64_t id, int fd);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return map_.size(); }
  [[nodiscard]] std::uint64_t data_at() const noexcept { return data_at_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] os::ProcessIdentity owner() const noexcept { return owner_; }
  [[nodiscard]] ArenaHeader& header() const noexcept;
  [[nodiscard]] BlockEntry& entry(std::uint32_t block) const noexcept;
  [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept { return map_.data() + offset; }
  /// Entries that were ever used, at most capacity() whatever another process wrote there.
  [[nodiscard]] std::uint32_t top() const noexcept;
  /// Whether an entry describes a range inside the data of this arena.
  [[nodiscard]] bool is_inside(std::uint64_t offset, std::uint64_t bytes) const noexcept;

  // --- holders
  /// This process's slot; takes one, sweeping dead holders when all are taken.
  /// @throws ResourceError when 256 living processes use the arena
  std::uint32_t slot();
  [[nodiscard]] bool has_slot() const noexcept { return slot_ >= 0; }
  void forget_slot() noexcept { slot_ = -1; }
  /// Takes a slot in the name of this process for a child that is to be forked; -1: none is free.
  [[nodiscard]] int reserve_slot() noexcept;
  void use_reserved(int slot) noexcept;
  [[nodiscard]] bool has_free_slot() const noexcept;

  // --- references; lock-free, any thread
  void set_bit(std::uint32_t block) noexcept { set_bit_of(static_cast<unsigned>(slot_), block); }
  void set_bit_of(std::uint32_t slot, std::uint32_t block) noexcept;
  void clear_bit(std::uint32_t block) noexcept;
  /// False when kMostInFlight are. The caller has a bit.
  [[nodiscard]] bool add_in_flight(std::uint32_t block) noexcept;
  /// False when nothing is under way or the block is not of that generation.
  [[nodiscard]] bool take_in_flight(std::uint32_t block, std::uint32_t generation) noexcept;
  void change_version(std::uint32_t block) noexcept;

  enum class Claim { kInUse, kFreed, kFinalize };
  /// Frees the block if nobody refers to it. kFinalize: this process now has to run the finalizer
  /// and call finish(). The process has a slot when `finalizer` is asked for.
  [[nodiscard]] Claim try_claim(std::uint32_t block, bool (*has_finalizer)(BlockKind)) noexcept;
  void finish(std::uint32_t block) noexcept;
  /// Tells the owner that the block is free.
  void mark_returned(std::uint32_t block) noexcept;
  /// Whether the block can be given out. For the owner.
  [[nodiscard]] bool is_free(std::uint32_t block) const noexcept;
  /// Gives a free block's whole pages back to the system.
  bool punch(std::uint32_t block, std::uint64_t bytes) noexcept;

  // --- sweeping
  /// Clears the bits of dead holders (only of `pid` when that is not 0). Calls `finalize`
  /// for each block in whose finalizer one died; the block is this process's to finish() then.
  /// Returns how many holders were swept.
  int sweep(pid_t pid, const std::function<void(std::uint32_t)>& finalize);
  /// Whether any block is in use.
  [[nodiscard]] bool has_live_blocks() const noexcept;

 private:
  Arena() = default;
  int take_slot() noexcept;

  os::Mapping map_;
  std::uint64_t id_ = 0;
  std::uint64_t entries_at_ = 0;
  std::uint64_t data_at_ = 0;
  std::uint32_t capacity_ = 0;
  os::ProcessIdentity owner_;
  int slot_ = -1;
};

}  // namespace plab::shm
