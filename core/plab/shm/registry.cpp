// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/registry.h"

#include <algorithm>
#include <cstring>

#include "plab/base/env.h"
#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/os/memfd.h"
#include "plab/os/proc.h"

namespace plab::shm {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 46U;
constexpr std::uint64_t kLeastArena = 32 * kMiB;
constexpr std::uint64_t kCheckEvery = 64 * kMiB;  // of fresh pages: then look at free memory again
constexpr std::uint64_t kLongLog = 64;            // records: then doubles are looked for
constexpr std::int64_t kAskOwnerNs = 20'000'000;
constexpr std::uint64_t kAskOwnerBytes = kMiB;

// Read in places that cannot pass it on: a plain function asks whether there is one.
std::array<std::atomic<Finalizer>, kBlockKinds> g_finalizers{};

bool has_finalizer(BlockKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kBlockKinds && g_finalizers[index].load() != nullptr;
}

// Address space that one arena reserves. Pages are taken as they are written, so it may be large.
std::uint64_t arena_bytes() {
  if (const auto mib = env::get_int("PLAB_ARENA_MIB", 1, 1 << 20)) {
    return static_cast<std::uint64_t>(*mib) * kMiB;
  }
#if defined(__SANITIZE_THREAD__)
  return 1024 * kMiB;  // ThreadSanitizer keeps four bytes for each byte that is mapped
#else
  return std::min(4 * os::memory().total, 64 * 1024 * kMiB);
#endif
}

void check_size(std::uint64_t bytes) {
  if (bytes <= kLargest) return;
  throw ResourceError(fmt::format(
      "[shm.block] {} bytes are asked for; the most for one block is {}", bytes, kLargest));
}

CorruptError bad_handle(const Handle& h, const char* what) {
  return CorruptError(fmt::format(
      "[shm.block] handle (arena {:016x}, offset {}, {} bytes, block {}, generation {}) "
      "is not valid: {}",
      h.arena, h.offset, h.bytes, h.block, h.generation, what));
}

}  // namespace

Depot& Registry::depot() {
  if (!depot_) depot_ = Depot::create();
  return depot_;
}

// --- references ---------------------------------------------------------------------------------

void Registry::link(Block::Ref* ref) noexcept {
  ref->next = refs_;
  if (refs_ != nullptr) refs_->previous = ref;
  refs_ = ref;
}

void Registry::unlink(Block::Ref* ref) noexcept {
  if (ref->use) ref->use->refs.erase(ref->handle.block);
  (ref->previous != nullptr ? ref->previous->next : refs_) = ref->next;
  if (ref->next != nullptr) ref->next->previous = ref->previous;
}

// The block's bit is set. On an exception the caller takes it back.
Block::Ref* Registry::make_ref(const std::shared_ptr<ArenaUse>& use, std::uint32_t block) {
  auto ref = std::make_unique<Block::Ref>();
  const Arena& arena = *use->arena;
  const BlockEntry& e = arena.entry(block);
  ref->data = arena.at(e.offset);
  ref->bytes = e.bytes;
  ref->kind = e.kind;
  ref->handle = {arena.id(), e.offset, e.bytes, block, BlockWord::unpack(e.word.load()).generation};
  ref->use = use;
  use->refs.emplace(block, ref.get());
  link(ref.get());
  return ref.release();
}

// --- allocation ---------------------------------------------------------------------------------

void Registry::check_memory(std::uint64_t bytes) {
  fresh_since_check_ += bytes;
  if (fresh_since_check_ < kCheckEvery && bytes < kCheckEvery / 4) return;
  const os::Memory memory = os::memory();
  if (bytes > memory.usable()) {
    throw ResourceError(fmt::format(
        "[shm.block] {} bytes of shared memory are asked for, but the machine has {} available and "
        "the control group allows {}; free memory or ask for less",
        bytes, memory.available,
        memory.group_left
            ? fmt::format("{} more (limit {})", *memory.group_left, memory.group_limit.value_or(0))
            : std::string("any amount")));
  }
  fresh_since_check_ = 0;
}

std::optional<Allocator::Piece> Registry::take(std::uint64_t bytes, BlockKind kind,
                                               std::uint64_t most, std::shared_ptr<ArenaUse>& use) {
  for (auto it = own_.rbegin(); it != own_.rend(); ++it) {
    if (auto piece = (*it)->allocator->take(bytes, kind, most)) {
      use = *it;
      return piece;
    }
  }
  return std::nullopt;
}

// Makes another arena. Asks for half as much while the address space is too small.
void Registry::grow(std::uint64_t bytes) {
  // A block table of up to 16 MiB and the header come before the data.
  const std::uint64_t least = std::max(kLeastArena, block_size(bytes) + 17 * kMiB);
  std::uint64_t size = std::max(std::min(arena_bytes(), os::file_size_limit()), least);
  const auto use = std::make_shared<ArenaUse>();
  os::UniqueFd fd;
  for (;; size = std::max(size / 2, least)) {
    try {
      use->arena = Arena::create(Bytes{size}, fd);
      break;
    } catch (const ResourceError& problem) {
      if (size > least && fd) continue;  // a descriptor there was, but no room to map it
      throw ResourceError(fmt::format("[shm.block] no room for {} bytes of shared memory: {}",
                                      bytes, problem.what()));
    }
  }
  use->allocator = std::make_unique<Allocator>(use->arena);
  own_.reserve(own_.size() + 1);
  arenas_.emplace(use->arena->id(), use);
  try {
    depot().append(use->arena->id(), use->arena->owner(), fd.get());
  } catch (...) {
    arenas_.erase(use->arena->id());
    throw;
  }
  own_.push_back(use);
}

// A block from an arena of this process; makes another arena when there is no room.
Allocator::Piece Registry::take_or_grow(std::uint64_t bytes, BlockKind kind,
                                        std::shared_ptr<ArenaUse>& use, Pending& pending) {
  auto taken = take(bytes, kind, 0, use);
  if (!taken && !own_.empty()) {
    collect_locked(0, pending);
    taken = take(bytes, kind, 0, use);
  }
  if (taken) return *taken;
  try {
    check_memory(bytes);
    grow(bytes);
    taken = take(bytes, kind, 0, use);
  } catch (const ResourceError&) {
    taken = take(bytes, kind, 8 * block_size(bytes), use);  // a larger free block, then
    if (!taken) throw;
  }
  return taken.value();
}

Block::Ref* Registry::allocate(std::uint64_t bytes, BlockKind kind, Fill fill) {
  check_size(bytes);
  Pending pending;
  const Runner runner{*this, pending};
  Block::Ref* ref = nullptr;
  Allocator::Piece piece;
  {
    const std::scoped_lock lock(lock_);
    std::shared_ptr<ArenaUse> use;
    piece = take_or_grow(bytes, kind, use, pending);
    try {
      if (piece.fresh) check_memory(bytes);
      ref = make_ref(use, piece.block);
    } catch (...) {
      if (const auto last = let_go(use, piece.block)) pending.push_back(*last);
      throw;
    }
  }
  // Outside the lock: nobody else knows the block yet.
  if (fill == Fill::kZero && piece.dirty) std::memset(ref->data, 0, ref->bytes);
  return ref;
}

Block::Ref* Registry::allocate_named(std::uint64_t bytes) {
  check_size(bytes);
  auto ref = std::make_unique<Block::Ref>();
  const std::scoped_lock lock(lock_);
  (void)depot();  // the segment's notes name the job
  ref->segment.emplace(Segment::create(Bytes{bytes}, {depot_.root(), depot_.job()}));
  ref->data = ref->segment->data();
  ref->bytes = bytes;
  ref->handle = ref->segment->handle();
  link(ref.get());
  return ref.release();
}

// --- receiving ----------------------------------------------------------------------------------

ArenaUse& Registry::find_arena(const Handle& handle, std::shared_ptr<ArenaUse>& use) {
  if (const auto it = arenas_.find(handle.arena); it != arenas_.end()) {
    use = it->second;
  } else {
    const auto entry = depot_ ? depot_.find(handle.arena) : std::nullopt;
    if (!entry) throw bad_handle(handle, "this job has no such arena");
    use = std::make_shared<ArenaUse>();
    use->arena = Arena::open(handle.arena, entry->fd.get());
    arenas_.emplace(handle.arena, use);
  }
  if (handle.block >= use->arena->top()) throw bad_handle(handle, "no such block in the arena");
  return *use;
}

Block::Ref* Registry::receive(const Handle& handle) {
  const std::scoped_lock lock(lock_);
  if (handle.block == kNamedBlock) {
    for (Block::Ref* ref = refs_; ref != nullptr; ref = ref->next) {
      if (!ref->segment || !(ref->handle == handle)) continue;
      ref->segment->take_in_flight();
      ref->count.fetch_add(1);
      return ref;
    }
    auto ref = std::make_unique<Block::Ref>();
    ref->segment.emplace(Segment::receive(handle));
    ref->data = ref->segment->data();
    ref->bytes = ref->segment->bytes();
    ref->handle = handle;
    link(ref.get());
    return ref.release();
  }
  std::shared_ptr<ArenaUse> use;
  Arena& arena = *find_arena(handle, use).arena;
  if (const auto it = use->refs.find(handle.block); it != use->refs.end()) {
    Block::Ref* ref = it->second;
    if (!(ref->handle == handle)) throw bad_handle(handle, "the block is another one now");
    if (!arena.take_in_flight(handle.block, handle.generation)) {
      throw bad_handle(handle, "no reference is under way");
    }
    ref->count.fetch_add(1);
    return ref;
  }
  (void)arena.slot();
  arena.set_bit(handle.block);  // first: from here on the block stays
  const BlockEntry& e = arena.entry(handle.block);
  const char* problem = nullptr;
  if (e.offset != handle.offset || e.bytes != handle.bytes ||
      !arena.is_inside(handle.offset, handle.bytes)) {
    problem = "the arena has other numbers for the block";
  } else if (!arena.take_in_flight(handle.block, handle.generation)) {
    problem = "the block was given out anew, or no reference is under way";
  }
  if (problem != nullptr) {
    // Whoever let go meanwhile saw our bit and left the block to us.
    (void)let_go(use, handle.block);
    throw bad_handle(handle, problem);
  }
  try {
    return make_ref(use, handle.block);
  } catch (...) {
    (void)let_go(use, handle.block);
    throw;
  }
}

void Registry::discard(const Handle& handle) {
  std::optional<PendingFinalizer> pending;
  {
    const std::scoped_lock lock(lock_);
    if (handle.block == kNamedBlock) {
      for (Block::Ref* ref = refs_; ref != nullptr; ref = ref->next) {
        if (ref->segment && ref->handle == handle) return ref->segment->take_in_flight();
      }
      (void)Segment::receive(handle);  // and let go
      return;
    }
    std::shared_ptr<ArenaUse> use;
    Arena& arena = *find_arena(handle, use).arena;
    (void)arena.slot();
    const bool held = use->refs.contains(handle.block);
    if (!held) arena.set_bit(handle.block);  // as in receive: from here on the block stays
    const BlockEntry& e = arena.entry(handle.block);
    const bool taken = e.offset == handle.offset && e.bytes == handle.bytes &&
                       arena.take_in_flight(handle.block, handle.generation);
    if (!held) pending = let_go(use, handle.block);
    if (!taken) throw bad_handle(handle, "no reference is under way");
  }
  if (pending) run({*pending});
}

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

std::array<int, 3> Registry::depot_descriptors() {
  const std::scoped_lock lock(lock_);
  return depot().numbers();
}

void Registry::adopt_depot(std::array<os::UniqueFd, 3> descriptors) {
  const std::scoped_lock lock(lock_);
  Depot other = Depot::open(std::move(descriptors));
  if (depot_ && depot_.job() == other.job()) return;
  if (depot_) {
    throw ContractError(
        fmt::format("[shm.depot] this process has shared memory of job {:016x} already and cannot "
                    "join job {:016x}; join before the first allocation",
                    depot_.job(), other.job()));
  }
  depot_ = std::move(other);
}

// --- what the headers promise -------------------------------------------------------------------

std::array<int, 3> Depot::descriptors() { return Registry::instance().depot_descriptors(); }

void Depot::adopt(std::array<os::UniqueFd, 3> descriptors) {
  Registry::instance().adopt_depot(std::move(descriptors));
}

void collect() { Registry::instance().collect(0); }
void sweep_holder(pid_t pid) { Registry::instance().collect(pid); }
void set_finalizer(BlockKind kind, Finalizer finalizer) {
  Registry::instance().set_finalizer(kind, finalizer);
}
void ensure_room_for_child() { Registry::instance().ensure_room_for_child(); }
Stats stats() { return Registry::instance().stats(); }

}  // namespace plab::shm
