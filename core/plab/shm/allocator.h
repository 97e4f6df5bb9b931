#pragma once
// SPDX-License-Identifier: Apache-2.0
// How the owner of an arena gives its blocks out: lists of free blocks by size, and a cursor into
// memory that was never used. All of it is the owner's private memory; a forked child drops it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plab/shm/arena.h"

namespace plab::shm {

/// Sizes of blocks: powers of two with three sizes between, in steps of 64 bytes up to 4 KiB and of
/// pages above. A block keeps its size for good, so a free one serves requests of its size only.
/// At most a quarter of a block is unused for requests over 16 KiB, at most half for smaller ones.
[[nodiscard]] std::uint64_t block_size(std::uint64_t bytes) noexcept;
/// The number of the list for a size that block_size gave.
[[nodiscard]] std::size_t size_class(std::uint64_t size) noexcept;
inline constexpr std::size_t kSizeClasses = std::size_t{4} * 64;

/// Guarded by the registry's lock. @fork of the process that made it only
class Allocator {
 public:
  /// Free pages of whole-page blocks beyond this go back to the system at once.
  static constexpr std::uint64_t kCacheLimit = std::uint64_t{64} << 20U;

  explicit Allocator(std::shared_ptr<Arena> arena);

  struct Piece {
    std::uint32_t block = 0;
    bool dirty = false;  ///< the bytes may be other than zero
    bool fresh = false;  ///< its pages have yet to be taken from the system
  };
  /// A block of block_size(bytes), marked as used and held by this process; nothing when there is
  /// no room. `most` is the largest size that may serve when there is none of the right one.
  [[nodiscard]] std::optional<Piece> take(std::uint64_t bytes, BlockKind kind, std::uint64_t most);
  /// Takes a free block back.
  void put(std::uint32_t block) noexcept;
  /// Takes back what other processes have freed.
  void take_returned() noexcept;
  /// The same by looking at every block: finds those whose freer was killed before it said so.
  void scan() noexcept;
  /// Gives the pages of free blocks back to the system.
  void trim() noexcept;
  [[nodiscard]] std::uint64_t cached() const noexcept { return cached_; }

 private:
  struct Local {
    std::uint64_t size = 0;
    std::uint32_t next = 0;  // in its list, index + 1; 0: the end
    bool given_out = false;
    bool dirty = false;
  };
  [[nodiscard]] std::optional<std::uint32_t> pop(std::size_t list) noexcept;
  [[nodiscard]] std::optional<std::uint32_t> carve(std::uint64_t size);
  void take_word(std::uint32_t leaf) noexcept;
  [[nodiscard]] bool is_cached(const Local& local) const noexcept;

  std::shared_ptr<Arena> arena_;
  std::vector<Local> local_;                         // one for each block that was ever used
  std::array<std::uint32_t, kSizeClasses> heads_{};  // index + 1; 0: empty
  std::uint64_t cursor_;                             // the first byte never used
  std::uint64_t small_cursor_ = 0;                   // inside a run for blocks under a page
  std::uint64_t small_end_ = 0;
  std::uint64_t cached_ = 0;
};

}  // namespace plab::shm
