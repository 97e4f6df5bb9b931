#pragma once
// SPDX-License-Identifier: Apache-2.0
// What this process knows of shared memory: its arenas, its references, the job's depot. One
// object, made by the first use and never destroyed, since blocks may live in static objects.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "plab/os/pipe.h"
#include "plab/shm/allocator.h"
#include "plab/shm/arena.h"
#include "plab/shm/block.h"
#include "plab/shm/depot.h"
#include "plab/shm/reclaim.h"
#include "plab/shm/segment.h"

namespace plab::shm {

struct ArenaUse;

/// This process's one reference to a block, shared by all Blocks that stand for it.
struct Block::Ref {
  std::atomic<std::uint32_t> count{1};  // Blocks; goes from 1 to 0 under the registry's lock only
  // fixed after start
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  BlockKind kind = BlockKind::kPlain;
  Handle handle;
  std::shared_ptr<ArenaUse> use;   // of a block in an arena
  std::optional<Segment> segment;  // of a named one
  // protected by the registry's lock: the list of all references
  Ref* previous = nullptr;
  Ref* next = nullptr;
};

/// An arena as this process uses it.
struct ArenaUse {
  std::shared_ptr<Arena> arena;
  std::unique_ptr<Allocator> allocator;                 // of an arena that this process owns
  std::unordered_map<std::uint32_t, Block::Ref*> refs;  // by block; only referred to, not owned
  std::int64_t owner_checked_ns = 0;
  bool owner_dead = false;
  int reserved_slot = -1;  // for the child of the fork under way, when there was no pipe for it
};

/// A block whose finalizer this process has to run, outside the lock.
struct PendingFinalizer {
  std::shared_ptr<ArenaUse> use;
  std::uint32_t block = 0;
};

/// Who has a reference to the block around an address.
struct Place {
  std::vector<std::int32_t> holders;  ///< pids
  bool more_may_come = false;  ///< a handle of the block is in a message that nobody has read
};

/// @threads every public function takes the lock
/// @fork handlers of pthread_atfork take the lock, register the child, and release it in both
class Registry {
 public:
  [[nodiscard]] static Registry& instance();

  [[nodiscard]] Block::Ref* allocate(std::uint64_t bytes, BlockKind kind, Fill fill);
  [[nodiscard]] Block::Ref* allocate_named(std::uint64_t bytes);
  [[nodiscard]] Block::Ref* receive(const Handle& handle);
  void discard(const Handle& handle);
  void release(Block::Ref* ref) noexcept;

  /// Nothing for an address outside the arenas of this process. Takes time in proportion to the
  /// references.
  [[nodiscard]] std::optional<Place> place_of(const void* address);

  void collect(pid_t pid);
  [[nodiscard]] Stats stats();
  void ensure_room_for_child();
  void set_finalizer(BlockKind kind, Finalizer finalizer) noexcept;
  [[nodiscard]] std::array<int, 3> depot_descriptors();
  void adopt_depot(std::array<os::UniqueFd, 3> descriptors);

 private:
  using Pending = std::vector<PendingFinalizer>;

  // Runs the finalizers when the lock is free again, also after an exception. Declare it before the
  // lock.
  struct Runner {
    Registry& registry;
    const Pending& pending;
    ~Runner() { registry.run(pending); }
  };

  Registry();
  // All below: the caller has the lock.
  Depot& depot();
  std::shared_ptr<ArenaUse> find_arena(const Handle& handle);
  Block::Ref* find_named(const Handle& handle) noexcept;
  Block::Ref* receive_named(const Handle& handle);
  static const char* take_over(Arena& arena, const Handle& handle) noexcept;
  Block::Ref* make_ref(const std::shared_ptr<ArenaUse>& use, std::uint32_t block);
  void link(Block::Ref* ref) noexcept;
  void unlink(Block::Ref* ref) noexcept;
  std::optional<Allocator::Piece> take(std::uint64_t bytes, BlockKind kind, std::uint64_t most,
                                       std::shared_ptr<ArenaUse>& use);
  Allocator::Piece take_or_grow(std::uint64_t bytes, BlockKind kind, std::shared_ptr<ArenaUse>& use,
                                Pending& pending);
  void grow(std::uint64_t bytes);
  void check_memory(std::uint64_t bytes);
  std::optional<PendingFinalizer> let_go(const std::shared_ptr<ArenaUse>& use, std::uint32_t block);
  void give_back(ArenaUse& use, std::uint32_t block) noexcept;
  bool owner_dead(ArenaUse& use, bool ask_now) noexcept;
  void sweep(const std::shared_ptr<ArenaUse>& use, pid_t pid, Pending& pending);
  void collect_locked(pid_t pid, Pending& pending);
  void sweep_strangers(pid_t pid, Pending& pending);
  // Without the lock.
  void run(const Pending& pending) noexcept;

  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;
  void reserve_for_child() noexcept;
  void register_child();

  std::mutex lock_;
  Depot depot_;
  std::unordered_map<std::uint64_t, std::shared_ptr<ArenaUse>> arenas_;
  std::vector<std::shared_ptr<ArenaUse>> own_;  // the newest last
  Block::Ref* refs_ = nullptr;
  std::uint64_t fresh_since_check_ = 0;
  std::optional<os::Pipe> fork_pipe_;
};

}  // namespace plab::shm
