#pragma once
// SPDX-License-Identifier: Apache-2.0
// Getting memory back from processes that died, and looking at what is in use.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "plab/shm/block.h"

namespace plab::shm {

/// Takes the references of dead processes away, gives free memory of this process's arenas and of
/// dead owners' back to the system, unmaps arenas that nobody uses any more, and removes named
/// segments of the dead. Runs by itself when an allocation would need a new arena.
/// Costs about 10 us for each process and 5 ns for each block that this process knows.
void collect();

/// Call it after reaping a child: what that process held, and the arenas that it owned, are free
/// at once, without asking who else lives. `pid` must be dead.
void sweep_holder(pid_t pid);

/// Called with the bytes of a block of that kind when the last reference is gone, before they are
/// used for anything else, in whichever process lets go last. It may call Block::discard. It must
/// stand being called again for the same bytes when the process that runs it is killed meanwhile:
/// it takes a message out first and discards its handles then. It must not throw.
using Finalizer = void (*)(std::byte* data, std::size_t bytes);
/// Sets it for this process (nullptr: none); the same program sets the same in every process.
void set_finalizer(BlockKind kind, Finalizer finalizer);

/// Call it before fork. Makes this process's job, so that a child which is the first to allocate
/// shares it; a job made by the child would be the child's alone.
/// @throws ResourceError when a further process could not register as holder of the blocks that
/// this one holds: the error is here then, and not in the child
void ensure_room_for_child();

/// What this process sees of shared memory.
struct Stats {
  std::uint64_t arenas_mapped = 0;   ///< known to this process
  std::uint64_t arenas_owned = 0;    ///< of them made by it
  std::uint64_t blocks_held = 0;     ///< blocks that this process has references to
  std::uint64_t blocks_in_use = 0;   ///< in all arenas known to it, by any process or message
  std::uint64_t bytes_in_use = 0;    ///< of those blocks
  std::uint64_t bytes_cached = 0;    ///< free in this process's arenas, but with pages
  std::uint64_t bytes_resident = 0;  ///< pages that the mapped arenas really take
  std::uint64_t depot_entries = 0;   ///< arenas in the job's log
};
[[nodiscard]] Stats stats();

}  // namespace plab::shm
