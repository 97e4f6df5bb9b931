// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/ring.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <new>

#include "plab/base/early.h"
#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/mp/ring_state.h"
#include "plab/mp/wire.h"
#include "plab/os/thread.h"
#include "plab/shm/reclaim.h"

// How tail and head make the queue safe. Positions only grow; position p lies at byte p modulo the
// capacity. A record is contiguous: where it would cross the end, a kSkip record fills up.
//
// Writer (holds write_lock): waits until tail + record - head fits, copies the record behind tail,
// stores tail. 16 bytes are always left free, so that kAborted or kDied finds room.
//   case W1: killed before it stores tail: nothing has happened; the next writer overwrites.
//   case W2: killed after it: the message is there. `written` may lack one; next_tail tells.
//   case W3: killed between fragments: `partial` tells the next writer, or a reader that waits for
//            the next fragment and finds the lock ownerless; either of them publishes kDied.
// Reader (holds read_lock): waits until head != tail, copies the record out, stores head.
//   case R1: killed before it stores head: the message is there for the next reader.
//   case R2: killed between fragments: the rest has no beginning; the next reader skips it.

namespace plab::mp {

namespace {

using Kind = RingRecord;
constexpr std::size_t kHeader = sizeof(RingRecord);
constexpr std::size_t kReserve = kHeader;  // for kAborted or kDied
constexpr std::uint64_t kLeast = 4096;
constexpr std::uint64_t kMost = std::uint64_t{1} << 30U;
constexpr std::chrono::milliseconds kLookAfterWriter{50};

constexpr std::size_t record_size(std::size_t bytes) {
  return kHeader + ((bytes + kHeader - 1) & ~(kHeader - 1));
}
/// The longest message in one record: with a skip before it it still fits an empty ring.
constexpr std::size_t longest_whole(std::uint64_t capacity) {
  return capacity / 2 - 2 * kHeader - kReserve;
}

/// Unlocks at the end of the block.
class Unlock {
 public:
  explicit Unlock(shm::Mutex& mutex) : mutex_(mutex) {}
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;
  ~Unlock() { mutex_.unlock(); }

 private:
  shm::Mutex& mutex_;
};

/// When the last reference to a ring goes: the messages in it give back what they refer to. Takes
/// each message out first, so that a second run after a kill does not do it twice.
void drop_messages(std::byte* data, std::size_t bytes) noexcept {
  if (bytes < sizeof(RingState)) return;
  auto& state = *std::launder(reinterpret_cast<RingState*>(data));
  const std::uint64_t capacity = state.capacity;
  if (state.magic != RingState::kMagic || bytes - sizeof(RingState) < capacity) return;
  std::vector<std::byte> message;
  while (state.tail.load() - state.head.load() - 1 < capacity) {
    const std::uint64_t head = state.head.load();
    const std::uint64_t offset = head & (capacity - 1);
    RingRecord record;
    std::memcpy(&record, data + sizeof(RingState) + offset, sizeof record);
    if (record.kind == RingRecord::kSkip) {
      state.head.store(head + capacity - offset);
      continue;
    }
    if (record.bytes > capacity - offset - kHeader) return;
    const std::byte* body = data + sizeof(RingState) + offset + kHeader;
    if (record.kind == RingRecord::kWhole || record.kind == RingRecord::kFirst) message.clear();
    message.insert(message.end(), body, body + record.bytes);
    state.head.store(head + record_size(record.bytes));
    if (record.kind == RingRecord::kWhole || record.kind == RingRecord::kLast) {
      wire::discard(message);
    }
  }
}

const Early g_early_ring([] { shm::set_finalizer(shm::BlockKind::kRing, &drop_messages); });

}  // namespace

ByteRing::ByteRing(Bytes capacity, std::uint64_t type, std::int64_t maxsize) {
  if (capacity.count > kMost) {
    throw ContractError(
        fmt::format("[mp.queue] a capacity of {} bytes; the largest is {}", capacity.count, kMost));
  }
  capacity_ = std::bit_ceil(std::max<std::uint64_t>(capacity.count, kLeast));
  block_ = shm::Block::allocate(Bytes{sizeof(RingState) + capacity_}, shm::BlockKind::kRing);
  state_ = new (block_.data()) RingState{};
  state_->type = type;
  state_->capacity = capacity_;
  state_->maxsize = std::max<std::int64_t>(maxsize, 0);
  state_->magic = RingState::kMagic;
}

ByteRing::ByteRing(shm::Block block, std::uint64_t type) : block_(std::move(block)) {
  if (block_.kind() != shm::BlockKind::kRing || block_.bytes() < sizeof(RingState)) {
    throw CorruptError(fmt::format(
        "[mp.queue] the message names a block of {} bytes that is no queue", block_.bytes()));
  }
  state_ = std::launder(reinterpret_cast<RingState*>(block_.data()));
  capacity_ = state_->capacity;
  if (state_->magic != RingState::kMagic || state_->type != type) {
    throw CorruptError(
        fmt::format("[mp.queue] the queue is of another type ({:#x}) than asked for ({:#x}); both "
                    "sides must name the same type",
                    state_->type, type));
  }
  if (!std::has_single_bit(capacity_) || capacity_ < kLeast ||
      capacity_ > block_.bytes() - sizeof(RingState)) {
    throw CorruptError(
        fmt::format("[mp.queue] a queue of {} bytes in a block of {}", capacity_, block_.bytes()));
  }
}

RingState& ByteRing::state() const {
  if (state_ != nullptr) return *state_;
  throw ContractError("[mp.queue] this handle has no queue (made by unbound(), or moved away)");
}

std::byte* ByteRing::at(std::uint64_t position) const {
  return reinterpret_cast<std::byte*>(state_ + 1) + (position & (capacity_ - 1));
}

// --- writing ------------------------------------------------------------------------------------

/// Bytes that a record takes at `tail`, with the skip before it.
std::uint64_t ByteRing::room_for(std::size_t bytes, std::uint64_t tail) const {
  const std::uint64_t size = record_size(bytes);
  const std::uint64_t rest = capacity_ - (tail & (capacity_ - 1));
  return size <= rest ? size : rest + size;
}

bool ByteRing::wait_room(std::size_t bytes, Deadline deadline) {
  RingState& ring = *state_;
  const std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);
  const std::uint64_t end = tail + room_for(bytes, tail) + kReserve;
  if (end - ring.seen_head <= capacity_) return true;
  return shm::await(ring.room, {shm::WaitKind::kQueuePut, state_}, deadline, [&] {
    ring.seen_head = ring.head.load(std::memory_order_acquire);
    return end - ring.seen_head <= capacity_;
  });
}

void ByteRing::publish(std::uint32_t kind, std::span<const std::byte> bytes, std::uint64_t number) {
  RingState& ring = *state_;
  std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);
  const std::uint64_t rest = capacity_ - (tail & (capacity_ - 1));
  if (record_size(bytes.size()) > rest) {
    const RingRecord skip{RingRecord::kSkip, 0, 0};
    std::memcpy(at(tail), &skip, sizeof skip);
    tail += rest;
  }
  const RingRecord record{kind, static_cast<std::uint32_t>(bytes.size()), number};
  std::memcpy(at(tail), &record, sizeof record);
  if (!bytes.empty()) std::memcpy(at(tail) + kHeader, bytes.data(), bytes.size());
  tail += record_size(bytes.size());
  const bool complete = kind == RingRecord::kWhole || kind == RingRecord::kLast;
  // next_tail before next_written: whoever finds next_tail == tail finds the right count (W1, W2)
  ring.next_tail.store(tail, std::memory_order_relaxed);
  ring.next_written.store(ring.written.load(std::memory_order_relaxed) + (complete ? 1 : 0),
                          std::memory_order_release);
  ring.tail.store(tail, std::memory_order_release);  // pairs with the reader's acquire in wait_data
  ring.data.wake_all();  // a read-modify-write: keeps the next line behind tail (case W2)
  ring.written.store(ring.next_written.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

/// Cases W1 to W3, by the next holder of write_lock.
void ByteRing::repair_writer(std::int32_t dead_pid) {
  RingState& ring = *state_;
  if (ring.next_tail.load() == ring.tail.load()) ring.written.store(ring.next_written.load());
  // What the dead writer saw is not to be relied on: it may have been killed before it stored all.
  ring.seen_head = ring.head.load(std::memory_order_acquire);
  const std::uint32_t partial = ring.partial.load();
  if (partial == 0) return;
  log::debug("[mp.queue] the writer {} died within a message", dead_pid);
  publish(RingRecord::kDied, {}, partial);
  ring.partial.store(0);
}

bool ByteRing::write_fragments(std::span<const std::byte> message, Deadline deadline) {
  RingState& ring = *state_;
  const std::uint64_t number = ring.written.load(std::memory_order_relaxed);
  const std::size_t piece = capacity_ / 4 - kHeader;
  std::uint32_t kind = RingRecord::kFirst;
  while (!message.empty()) {
    const auto part = message.first(std::min(piece, message.size()));
    if (!wait_room(part.size(), deadline)) {
      if (kind != RingRecord::kFirst) publish(RingRecord::kAborted, {}, number);
      ring.partial.store(0);
      return false;
    }
    ring.partial.store(static_cast<std::uint32_t>(os::current_pid()));
    message = message.subspan(part.size());
    publish(message.empty() ? std::uint32_t{RingRecord::kLast} : kind, part, number);
    kind = RingRecord::kMiddle;
  }
  ring.partial.store(0);
  return true;
}

bool ByteRing::write(std::span<const std::byte> message, Deadline deadline) {
  RingState& ring = state();
  const shm::LockResult lock = ring.write_lock.lock(deadline);
  if (!lock.acquired()) return false;
  const Unlock unlock(ring.write_lock);
  if (lock.owner_died()) repair_writer(lock.dead_pid);
  if (message.size() > longest_whole(capacity_)) return write_fragments(message, deadline);
  if (!wait_room(message.size(), deadline)) return false;
  publish(RingRecord::kWhole, message, ring.written.load(std::memory_order_relaxed));
  return true;
}

// --- reading ------------------------------------------------------------------------------------

/// Case W3, by a reader that has waited for the next fragment for a while.
void ByteRing::look_after_writer() {
  RingState& ring = *state_;
  const shm::LockResult lock = ring.write_lock.try_lock();
  if (!lock.acquired()) return;  // it lives and writes (or another writer repairs)
  const Unlock unlock(ring.write_lock);
  repair_writer(lock.dead_pid);
}

/// Waits for a record. Within a message its writer's death is looked for, and the deadline does not
/// count: the message has begun.
bool ByteRing::wait_data(bool within, Deadline deadline) {
  RingState& ring = *state_;
  const std::uint64_t head = ring.head.load(std::memory_order_relaxed);
  const auto ready = [&] {
    ring.seen_tail = ring.tail.load(std::memory_order_acquire);
    return ring.seen_tail != head;
  };
  if (ring.seen_tail - head - 1 < capacity_) return true;
  const shm::WaitSite site{shm::WaitKind::kQueueGet, state_};
  if (!within) return shm::await(ring.data, site, deadline, ready);
  while (!shm::await(ring.data, site, Deadline::after(kLookAfterWriter), ready)) {
    look_after_writer();
  }
  return true;
}

void ByteRing::advance(std::uint64_t head) {
  RingState& ring = *state_;
  const std::uint64_t before = ring.head.load(std::memory_order_relaxed);
  ring.head.store(head, std::memory_order_release);  // pairs with acquire in wait_room
  // A sleeping writer is woken when the ring is known to be empty, and each time that head passes a
  // sixteenth of it while at least a quarter is free: not for every message. At its deadline, and
  // every 100 ms, the writer looks by itself.
  const bool passed = ((before ^ head) & ~(capacity_ / 16 - 1)) != 0;
  const std::uint64_t used = ring.seen_tail - head;
  if (used == 0 || (passed && used <= capacity_ - capacity_ / 4)) ring.room.wake_all();
}

void ByteRing::damaged(const char* problem) {
  RingState& ring = *state_;
  const std::uint64_t head = ring.head.load();
  advance(ring.tail.load());  // the messages in it are lost; what comes after is read again
  throw CorruptError(
      fmt::format("[mp.queue] the memory of the queue is damaged at byte {}: {}", head, problem));
}

/// Takes one record out. True: `into` is a whole message. `within`: a message has begun.
bool ByteRing::consume(std::vector<std::byte>& into, bool& within) {
  RingState& ring = *state_;
  const std::uint64_t head = ring.head.load(std::memory_order_relaxed);
  const std::uint64_t rest = capacity_ - (head & (capacity_ - 1));
  if (ring.seen_tail - head > capacity_ || head % kHeader != 0) damaged("its counters");
  RingRecord record;
  std::memcpy(&record, at(head), sizeof record);
  if (record.kind == RingRecord::kSkip) {
    advance(head + rest);
    return false;
  }
  if (record.kind < RingRecord::kWhole || record.kind > RingRecord::kDied ||
      record.bytes > rest - kHeader || record_size(record.bytes) > ring.seen_tail - head) {
    damaged("a record");
  }
  const bool begins = record.kind == RingRecord::kWhole || record.kind == RingRecord::kFirst;
  const bool ends = record.kind == RingRecord::kWhole || record.kind == RingRecord::kLast;
  const bool wanted = begins || within;  // else it is the rest of a message of case R2
  if (begins) into.clear();
  if (wanted && (begins || record.kind == RingRecord::kMiddle || ends)) {
    const std::byte* body = at(head) + kHeader;
    into.insert(into.end(), body, body + record.bytes);
  }
  if (ends) {
    ring.taken.store(record.number + 1, std::memory_order_release);
    if (ring.maxsize > 0) ring.slots.wake_all();
  }
  advance(head + record_size(record.bytes));
  if (record.kind == RingRecord::kDied && within) {
    within = false;
    throw PeerDied(fmt::format(
        "[mp.queue] process {} died while it wrote a message of more than {} bytes; the message is "
        "lost, the queue goes on",
        record.number, into.size()));
  }
  within =
      wanted && !ends && record.kind != RingRecord::kAborted && record.kind != RingRecord::kDied;
  return wanted && ends;
}

bool ByteRing::read(std::vector<std::byte>& into, Deadline deadline) {
  RingState& ring = state();
  const shm::LockResult lock = ring.read_lock.lock(deadline);
  if (!lock.acquired()) return false;
  const Unlock unlock(ring.read_lock);
  if (lock.owner_died()) ring.seen_tail = ring.head.load(std::memory_order_relaxed);
  bool within = false;
  while (true) {
    if (!wait_data(within, deadline)) return false;
    if (consume(into, within)) return true;
  }
}

bool ByteRing::empty() const {
  const RingState& ring = state();
  return ring.tail.load() == ring.head.load();
}

std::uint64_t ByteRing::written() const { return state().written.load(); }
std::uint64_t ByteRing::taken() const { return state().taken.load(); }
std::size_t ByteRing::capacity() const {
  (void)state();
  return capacity_;
}
const shm::Block& ByteRing::block() const {
  (void)state();
  return block_;
}

}  // namespace plab::mp
