// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/arena.h"

#include <algorithm>
#include <new>

#include "plab/base/error.h"
#include "plab/base/timeline.h"
#include "plab/os/memfd.h"
#include "plab/os/random.h"

namespace plab::shm {

namespace {

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t step) {
  return (n + step - 1) / step * step;
}

// One entry for each KiB of a small arena, so that the table takes a sixteenth of it at most.
std::uint32_t capacity_for(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / 1024, 1024, kMostBlocks));
}

}  // namespace

std::shared_ptr<Arena> Arena::create(Bytes bytes, os::UniqueFd& fd) {
  const std::uint64_t whole = round_up(bytes.count, kPage);
  fd = os::create_memfd("plab_arena", Bytes{whole});
  std::shared_ptr<Arena> arena(new Arena());
  arena->map_ = os::Mapping::shared(fd.get(), Bytes{whole});
  arena->map_.set_dump(os::Dump::kNo);
  arena->capacity_ = capacity_for(whole);
  arena->entries_at_ = round_up(sizeof(ArenaHeader), kPage);
  arena->data_at_ =
      round_up(arena->entries_at_ + std::uint64_t{arena->capacity_} * sizeof(BlockEntry), kPage);
  while (arena->id_ == 0) arena->id_ = os::random_u64();
  arena->owner_ = os::self_identity();
  auto* header = ::new (arena->map_.data()) ArenaHeader;  // the memory is zero already
  header->id = arena->id_;
  header->bytes = whole;
  header->owner = arena->owner_.packed();
  header->entries_at = arena->entries_at_;
  header->data_at = arena->data_at_;
  header->capacity = arena->capacity_;
  header->magic = kMagic;
  if (timeline::enabled()) {
    timeline::record({.kind = timeline::Kind::kMap,
                      .label = "arena created",
                      .id = arena->id_,
                      .value = static_cast<std::int64_t>(whole)});
  }
  return arena;
}

std::shared_ptr<Arena> Arena::open(std::uint64_t id, int fd) {
  const std::uint64_t bytes = os::file_use(fd).size;
  const auto corrupt = [&](const char* what) {
    return CorruptError(fmt::format("[shm.arena] arena {:016x}: {}", id, what));
  };
  if (bytes < sizeof(ArenaHeader)) throw corrupt("its file is shorter than a header");
  std::shared_ptr<Arena> arena(new Arena());
  arena->map_ = os::Mapping::shared(fd, Bytes{bytes});
  arena->map_.set_dump(os::Dump::kNo);
  // What the header says is checked once and kept here: nobody can change it under us later.
  const ArenaHeader& header = arena->header();
  arena->id_ = header.id;
  arena->entries_at_ = header.entries_at;
  arena->data_at_ = header.data_at;
  arena->capacity_ = header.capacity;
  arena->owner_ = os::ProcessIdentity::from_packed(header.owner);
  if (header.magic != kMagic || arena->id_ != id || header.bytes != bytes) {
    throw corrupt("its file is not that of this arena");
  }
  if (arena->capacity_ > kMostBlocks || arena->entries_at_ % kPage != 0 ||
      arena->entries_at_ < sizeof(ArenaHeader) || arena->data_at_ > bytes ||
      arena->entries_at_ > arena->data_at_ ||
      arena->capacity_ > (arena->data_at_ - arena->entries_at_) / sizeof(BlockEntry)) {
    throw corrupt("its header is damaged");
  }
  if (timeline::enabled()) {
    timeline::record({.kind = timeline::Kind::kMap,
                      .label = "arena mapped",
                      .id = id,
                      .value = static_cast<std::int64_t>(bytes)});
  }
  return arena;
}

Arena::~Arena() {
  if (slot_ >= 0) header().holders[static_cast<std::size_t>(slot_)].store(0);
  if (map_ && timeline::enabled()) {
    timeline::record({.kind = timeline::Kind::kUnmap,
                      .label = "arena",
                      .id = id_,
                      .value = static_cast<std::int64_t>(map_.size())});
  }
}

ArenaHeader& Arena::header() const noexcept {
  return *std::launder(reinterpret_cast<ArenaHeader*>(map_.data()));
}

BlockEntry& Arena::entry(std::uint32_t block) const noexcept {
  return *std::launder(reinterpret_cast<BlockEntry*>(map_.data() + entries_at_ +
                                                     std::uint64_t{block} * sizeof(BlockEntry)));
}

std::uint32_t Arena::top() const noexcept { return std::min(header().block_top.load(), capacity_); }

bool Arena::is_inside(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  return bytes > 0 && offset >= data_at_ && offset <= map_.size() && offset % 64 == 0 &&
         bytes <= map_.size() - offset;
}

// --- holders ------------------------------------------------------------------------------------

int Arena::take_slot() noexcept {
  const std::uint64_t self = os::self_identity().packed();
  auto& holders = header().holders;
  for (std::size_t s = 0; s < holders.size(); ++s) {
    std::uint64_t none = 0;
    if (holders[s].load() == 0 && holders[s].compare_exchange_strong(none, self)) {
      return static_cast<int>(s);
    }
  }
  return -1;
}

std::uint32_t Arena::slot() {
  if (slot_ < 0) slot_ = take_slot();
  if (slot_ < 0) {
    // No finalizer is taken over here: the caller holds the lock. collect() sees to those.
    sweep(0, nullptr);
    slot_ = take_slot();
  }
  if (slot_ < 0) {
    throw ResourceError(fmt::format(
        "[shm.arena] {} living processes use arena {:016x} of process {} already, the "
        "most that one arena serves; end some, or let each process make its own tensors",
        kMostHolders, id_, owner_.pid));
  }
  return static_cast<std::uint32_t>(slot_);
}

int Arena::reserve_slot() noexcept { return take_slot(); }

void Arena::use_reserved(int slot) noexcept {
  slot_ = slot;
  header().holders[static_cast<std::size_t>(slot)].store(os::self_identity().packed());
}

bool Arena::has_free_slot() const noexcept {
  return std::ranges::any_of(header().holders, [](const auto& h) { return h.load() == 0; });
}

// --- references ---------------------------------------------------------------------------------

void Arena::set_bit_of(std::uint32_t s, std::uint32_t block) noexcept {
  entry(block).holders[(s / 64) % 4].fetch_or(std::uint64_t{1} << (s % 64));
}

void Arena::clear_bit(std::uint32_t block) noexcept {
  const auto s = static_cast<unsigned>(slot_);
  entry(block).holders[(s / 64) % 4].fetch_and(~(std::uint64_t{1} << (s % 64)));
}

bool Arena::add_in_flight(std::uint32_t block) noexcept {
  auto& word = entry(block).word;
  std::uint64_t seen = word.load();
  for (;;) {
    BlockWord next = BlockWord::unpack(seen);
    if (next.in_flight == kMostInFlight) return false;
    ++next.in_flight;
    ++next.version;  // case 1
    if (word.compare_exchange_weak(seen, next.pack())) return true;
  }
}

bool Arena::take_in_flight(std::uint32_t block, std::uint32_t generation) noexcept {
  auto& word = entry(block).word;
  std::uint64_t seen = word.load();
  for (;;) {
    BlockWord next = BlockWord::unpack(seen);
    if (next.state != BlockState::kUsed || next.generation != generation || next.in_flight == 0) {
      return false;
    }
    --next.in_flight;  // case 2
    if (word.compare_exchange_weak(seen, next.pack())) return true;
  }
}

void Arena::change_version(std::uint32_t block) noexcept {
  auto& word = entry(block).word;
  std::uint64_t seen = word.load();
  for (;;) {
    BlockWord next = BlockWord::unpack(seen);
    ++next.version;  // case 3
    if (word.compare_exchange_weak(seen, next.pack())) return;
  }
}

Arena::Claim Arena::try_claim(std::uint32_t block, bool (*has_finalizer)(BlockKind)) noexcept {
  BlockEntry& e = entry(block);
  for (;;) {
    std::uint64_t seen = e.word.load();
    const BlockWord word = BlockWord::unpack(seen);
    if (word.state != BlockState::kUsed || word.in_flight != 0) return Claim::kInUse;  // 2, 4
    for (const auto& mask : e.holders) {
      if (mask.load() != 0) return Claim::kInUse;
    }
    const bool finalize = slot_ >= 0 && has_finalizer != nullptr && has_finalizer(e.kind);
    BlockWord next{BlockState::kFree, 0, 0, word.generation};
    if (finalize) {
      next.state = BlockState::kFinalizing;
      next.in_flight = static_cast<std::uint32_t>(slot_);
    }
    if (e.word.compare_exchange_strong(seen, next.pack())) {
      return finalize ? Claim::kFinalize : Claim::kFreed;
    }
    // 1, 3, 4 or 5: look again
  }
}

void Arena::finish(std::uint32_t block) noexcept {
  auto& word = entry(block).word;
  const std::uint32_t generation = BlockWord::unpack(word.load()).generation;
  word.store(BlockWord{BlockState::kFree, 0, 0, generation}.pack());
}

void Arena::mark_returned(std::uint32_t block) noexcept {
  ArenaHeader& h = header();
  const std::uint32_t leaf = block / 64;
  h.returned[leaf].fetch_or(std::uint64_t{1} << (block % 64));
  h.groups[leaf / 64].fetch_or(std::uint64_t{1} << (leaf % 64));
  h.top.fetch_or(std::uint64_t{1} << (leaf / 64));
}

bool Arena::is_free(std::uint32_t block) const noexcept {
  return BlockWord::unpack(entry(block).word.load()).state == BlockState::kFree;
}

bool Arena::punch(std::uint32_t block, std::uint64_t bytes) noexcept {
  const std::uint64_t offset = entry(block).offset;
  return is_inside(offset, bytes) && map_.punch(offset, bytes);
}

// --- sweeping -----------------------------------------------------------------------------------

// Two processes that swept the same slot at different times would be a disaster: the later one
// would clear the bits of a new holder of that slot. So a sweeper first puts its own identity into
// the slot. Who finds the slot of a dead sweeper takes it over in the same way and starts again.
int Arena::sweep(pid_t pid, const std::function<void(std::uint32_t)>& finalize) {
  const std::uint64_t self = os::self_identity().packed();
  int swept = 0;
  for (std::uint32_t s = 0; s < kMostHolders; ++s) {
    auto& holder = header().holders[s];
    std::uint64_t seen = holder.load();
    const auto who = os::ProcessIdentity::from_packed(seen & ~kSweeping);
    if (seen == 0 || (seen & ~kSweeping) == self) continue;
    if (pid != 0 && who.pid != pid) continue;
    if (os::is_alive(who)) continue;  // also for a given pid: it may be another process's by now
    if (!holder.compare_exchange_strong(seen, self | kSweeping)) continue;
    const std::uint64_t bit = std::uint64_t{1} << (s % 64);
    bool keep = false;
    for (std::uint32_t b = 0; b < top(); ++b) {
      BlockEntry& e = entry(b);
      if ((e.holders[s / 64].load() & bit) != 0) e.holders[s / 64].fetch_and(~bit);
      std::uint64_t word = e.word.load();
      BlockWord parts = BlockWord::unpack(word);
      if (parts.state != BlockState::kFinalizing || parts.in_flight != s) continue;
      if (!finalize || slot_ < 0) {
        keep = true;  // leave the slot to a sweep that can run finalizers
        continue;
      }
      parts.in_flight = static_cast<std::uint32_t>(slot_);
      if (e.word.compare_exchange_strong(word, parts.pack())) finalize(b);
    }
    holder.store(keep ? seen : 0);
    if (!keep) ++swept;
  }
  return swept;
}

bool Arena::has_live_blocks() const noexcept {
  for (std::uint32_t b = 0; b < top(); ++b) {
    if (!is_free(b)) return true;
  }
  return false;
}

}  // namespace plab::shm
