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

// Address space that one arena reserves. Pages are taken as they are written, so it may be large.
std::uint64_t arena_bytes() {
  if (const auto mib = env::get_int("PLAB_ARENA_MIB", 1, 1 << 20)) {
    return static_cast<std::uint64_t>(*mib) * kMiB;
  }
#if defined(__SANITIZE_THREAD__)
  return 1024 * kMiB;  // ThreadSanitizer keeps four bytes for each byte that is mapped
#else
  return std::min(4 * os::memory().total, std::uint64_t{64} * 1024 * kMiB);
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

std::shared_ptr<ArenaUse> Registry::find_arena(const Handle& handle) {
  std::shared_ptr<ArenaUse> use;
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
  return use;
}

Block::Ref* Registry::receive_named(const Handle& handle) {
  if (Block::Ref* ref = find_named(handle)) {
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

Block::Ref* Registry::find_named(const Handle& handle) noexcept {
  for (Block::Ref* ref = refs_; ref != nullptr; ref = ref->next) {
    if (ref->segment && ref->handle == handle) return ref;
  }
  return nullptr;
}

// Why the reference under way could not be taken; nullptr: it was. This process has its bit set, so
// the block, if it is that block, stays as it is.
const char* Registry::take_over(Arena& arena, const Handle& handle) noexcept {
  const BlockEntry& e = arena.entry(handle.block);
  if (e.offset != handle.offset || e.bytes != handle.bytes ||
      !arena.is_inside(handle.offset, handle.bytes)) {
    return "the arena has other numbers for the block";
  }
  if (!arena.take_in_flight(handle.block, handle.generation)) {
    return "the block was given out anew, or no reference is under way";
  }
  return nullptr;
}

Block::Ref* Registry::receive(const Handle& handle) {
  Pending pending;
  const Runner runner{*this, pending};
  const std::scoped_lock lock(lock_);
  if (handle.block == kNamedBlock) return receive_named(handle);
  const std::shared_ptr<ArenaUse> use = find_arena(handle);
  Arena& arena = *use->arena;
  if (const auto it = use->refs.find(handle.block); it != use->refs.end()) {
    if (const char* problem = take_over(arena, handle)) throw bad_handle(handle, problem);
    it->second->count.fetch_add(1);
    return it->second;
  }
  (void)arena.slot();
  arena.set_bit(handle.block);  // first: from here on the block stays
  try {
    if (const char* problem = take_over(arena, handle)) throw bad_handle(handle, problem);
    return make_ref(use, handle.block);
  } catch (...) {
    // Whoever let go meanwhile saw our bit and left the block to us.
    if (const auto last = let_go(use, handle.block)) pending.push_back(*last);
    throw;
  }
}

void Registry::discard(const Handle& handle) {
  Pending pending;
  const Runner runner{*this, pending};
  const std::scoped_lock lock(lock_);
  if (handle.block == kNamedBlock) {
    if (Block::Ref* ref = find_named(handle)) return ref->segment->take_in_flight();
    (void)Segment::receive(handle);  // and let go
    return;
  }
  const std::shared_ptr<ArenaUse> use = find_arena(handle);
  Arena& arena = *use->arena;
  (void)arena.slot();
  const bool held = use->refs.contains(handle.block);
  if (!held) arena.set_bit(handle.block);  // as in receive
  const char* problem = take_over(arena, handle);
  if (!held) {
    if (const auto last = let_go(use, handle.block)) pending.push_back(*last);
  }
  if (problem != nullptr) throw bad_handle(handle, problem);
}

// --- the depot
// ------------------------------------------------------------------------------------

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
