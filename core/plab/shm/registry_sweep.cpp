// SPDX-License-Identifier: Apache-2.0
// The registry's other half: letting go of blocks, and taking back what dead processes held.
#include <algorithm>

#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/os/memfd.h"
#include "plab/shm/registry.h"

namespace plab::shm {

namespace {

constexpr std::int64_t kAskOwnerNs = 20'000'000;
constexpr std::uint64_t kAskOwnerBytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLongLog = 64;  // records: then doubles are looked for

// Read by has_finalizer, a plain function, because Arena::try_claim knows no registry.
std::array<std::atomic<Finalizer>, kBlockKinds> g_finalizers{};

bool has_finalizer(BlockKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kBlockKinds && g_finalizers[index].load() != nullptr;
}

}  // namespace

// --- letting go ---------------------------------------------------------------------------------

std::optional<PendingFinalizer> Registry::let_go(const std::shared_ptr<ArenaUse>& use,
                                                 std::uint32_t block) {
  use->arena->clear_bit(block);
  switch (use->arena->try_claim(block, &has_finalizer)) {
    case Arena::Claim::kInUse:
      break;
    case Arena::Claim::kFreed:
      give_back(*use, block);
      break;
    case Arena::Claim::kFinalize:
      return PendingFinalizer{use, block};
  }
  return std::nullopt;
}

void Registry::give_back(ArenaUse& use, std::uint32_t block) noexcept {
  if (use.allocator) {
    use.allocator->put(block);
    return;
  }
  use.arena->mark_returned(block);
  const std::uint64_t bytes = block_size(use.arena->entry(block).bytes);
  const bool was_dead = use.owner_dead;
  if (!owner_dead(use, bytes >= kAskOwnerBytes)) return;
  if (was_dead) {
    (void)use.arena->punch(block, bytes);
    return;
  }
  // Just found out: those that were let go since the last look are punched now.
  for (std::uint32_t b = 0; b < use.arena->top(); ++b) {
    if (use.arena->is_free(b)) (void)use.arena->punch(b, block_size(use.arena->entry(b).bytes));
  }
}

// Asking costs 10 us, so it is not done each time.
bool Registry::owner_dead(ArenaUse& use, bool ask_now) noexcept {
  if (use.owner_dead || use.allocator) return use.owner_dead;
  const std::int64_t now = monotonic_ns();
  if (!ask_now && now - use.owner_checked_ns < kAskOwnerNs) return false;
  use.owner_checked_ns = now;
  use.owner_dead = !os::is_alive(use.arena->owner());
  return use.owner_dead;
}

void Registry::release(Block::Ref* ref) noexcept {
  std::uint32_t count = ref->count.load();
  while (count > 1) {
    if (ref->count.compare_exchange_weak(count, count - 1)) return;
  }
  std::optional<PendingFinalizer> pending;
  {
    const std::scoped_lock lock(lock_);
    if (ref->count.fetch_sub(1) != 1) return;  // received again meanwhile
    unlink(ref);
    if (ref->use) pending = let_go(ref->use, ref->handle.block);
    ref->segment.reset();
  }
  delete ref;
  if (pending) run({*pending});
}

void Registry::run(const Pending& pending) noexcept {
  for (const auto& [use, block] : pending) {
    const BlockEntry& e = use->arena->entry(block);
    const Finalizer finalizer = g_finalizers[static_cast<std::size_t>(e.kind) % kBlockKinds].load();
    if (finalizer != nullptr && use->arena->is_inside(e.offset, e.bytes)) {
      finalizer(use->arena->at(e.offset), e.bytes);
    }
    const std::scoped_lock lock(lock_);
    use->arena->finish(block);
    give_back(*use, block);
  }
}

void Registry::set_finalizer(BlockKind kind, Finalizer finalizer) noexcept {
  g_finalizers[static_cast<std::size_t>(kind) % kBlockKinds].store(finalizer);
}

// --- sweeping -----------------------------------------------------------------------------------

void Registry::sweep(const std::shared_ptr<ArenaUse>& use, pid_t pid, Pending& pending) {
  Arena& arena = *use->arena;
  if (!arena.has_slot()) {
    try {
      (void)arena.slot();  // finalizers run in the name of a slot
    } catch (const ResourceError&) {
      log::debug("[shm.registry] arena {:016x}: no slot to sweep with", arena.id());
    }
  }
  const int swept = arena.sweep(pid, [&](std::uint32_t block) { pending.push_back({use, block}); });
  if (swept == 0 && pid != 0) return;
  for (std::uint32_t block = 0; block < arena.top(); ++block) {
    const auto claim = arena.try_claim(block, &has_finalizer);
    if (claim == Arena::Claim::kFreed) give_back(*use, block);
    if (claim == Arena::Claim::kFinalize) pending.push_back({use, block});
  }
}

void Registry::collect_locked(pid_t pid, Pending& pending) {
  for (auto it = arenas_.begin(); it != arenas_.end();) {
    const std::shared_ptr<ArenaUse> use = it->second;
    sweep(use, pid, pending);
    if (use->allocator) {
      use->allocator->take_returned();
      use->allocator->scan();
      if (pid == 0) use->allocator->trim();
    } else if (owner_dead(*use, true)) {
      for (std::uint32_t b = 0; b < use->arena->top(); ++b) {
        if (use->arena->is_free(b)) {
          (void)use->arena->punch(b, block_size(use->arena->entry(b).bytes));
        }
      }
    }
    const bool busy = !use->refs.empty() ||
                      std::ranges::any_of(pending, [&](const auto& p) { return p.use == use; });
    // Of a dead owner and unused here: unmap. With a living owner the next message needs it again.
    it = use->owner_dead && !busy ? arenas_.erase(it) : std::next(it);
  }
  if (!depot_) return;
  try {
    sweep_strangers(pid, pending);
  } catch (const Error& problem) {
    // No descriptor to look with, or the log is held by a stopped process: another time, then.
    log::debug("[shm.registry] the job's log could not be swept: {}", problem.what());
  }
}

// The arenas of the job that this process does not know: it may be the only one left to see that
// a holder there has died. Then drops from the log the arenas of dead owners in which no block is
// used: with the log's descriptor the last of their memory goes.
void Registry::sweep_strangers(pid_t pid, Pending& pending) {
  std::vector<std::uint64_t> droppable;
  const auto look = [&](const Depot::Entry& entry) {
    std::shared_ptr<ArenaUse> use;
    if (const auto it = arenas_.find(entry.arena); it != arenas_.end()) {
      use = it->second;
    } else {
      use = std::make_shared<ArenaUse>();
      use->arena = Arena::open(entry.arena, entry.fd.get());
      sweep(use, pid, pending);
    }
    if (use->allocator || os::is_alive(entry.owner)) return;
    use->owner_dead = true;
    if (!use->arena->has_live_blocks()) droppable.push_back(entry.arena);
  };
  depot_.for_each([&](const Depot::Entry& entry) {
    try {
      look(entry);
    } catch (const CorruptError& problem) {
      log::warning("{}; dropped from the log", problem.what());
      droppable.push_back(entry.arena);
    } catch (const Error& problem) {
      log::debug("{}; looked at another time", problem.what());
    }
  });
  if (droppable.empty() && depot_.entries() < kLongLog) return;
  depot_.compact([&](const Depot::Entry& entry) {
    return std::ranges::find(droppable, entry.arena) == droppable.end();
  });
}

void Registry::collect(pid_t pid) {
  {
    Pending pending;
    const Runner runner{*this, pending};
    const std::scoped_lock lock(lock_);
    collect_locked(pid, pending);
  }
  sweep_dead_segments(pid == 0 ? SweepScope::kAll : SweepScope::kMakerDead);
}

Stats Registry::stats() {
  const std::scoped_lock lock(lock_);
  Stats result;
  result.arenas_mapped = arenas_.size();
  result.arenas_owned = own_.size();
  for (const Block::Ref* ref = refs_; ref != nullptr; ref = ref->next) ++result.blocks_held;
  for (const auto& [id, use] : arenas_) {
    for (std::uint32_t b = 0; b < use->arena->top(); ++b) {
      if (use->arena->is_free(b)) continue;
      ++result.blocks_in_use;
      result.bytes_in_use += use->arena->entry(b).bytes;
    }
    if (use->allocator) result.bytes_cached += use->allocator->cached();
    if (const auto entry = depot_.find(id)) {
      result.bytes_resident += os::file_use(entry->fd.get()).allocated;
    }
  }
  if (depot_) result.depot_entries = depot_.entries();
  return result;
}

}  // namespace plab::shm
