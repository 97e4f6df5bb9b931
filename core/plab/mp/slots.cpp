// SPDX-License-Identifier: Apache-2.0
// The slots of a Queue: reserved - taken of them are in use. `reserved` grows when a value is put,
// `taken` when a reader has its message, so a killed reader takes no slot along. Which process has
// reserved how many that it has not written is kept in a table, so that a killed writer does not
// either.
#include <algorithm>
#include <chrono>

#include "plab/base/error.h"
#include "plab/mp/ring.h"
#include "plab/mp/ring_state.h"
#include "plab/os/process.h"

namespace plab::mp {

namespace {

constexpr std::chrono::milliseconds kLookForDead{100};

/// This process's row, or the last row, which those share that find none (their slots are not given
/// back when they are killed).
RingProducer& row_of(RingState& ring, std::uint64_t who) {
  const std::size_t last = RingState::kProducers - 1;
  for (std::size_t i = 0; i < last; ++i) {
    RingProducer& row = ring.producers[(who + i) % last];
    std::uint64_t owner = row.who.load();
    if (owner == who) return row;
    if (owner == 0 && row.who.compare_exchange_strong(owner, who)) return row;
    if (owner == who) return row;  // another thread of this process was first
  }
  return ring.producers[last];
}

RingProducer& own_row(RingState& ring) { return row_of(ring, os::self_identity().packed()); }

/// Gives back the slots of processes that died before they wrote.
void reclaim_slots(RingState& ring) {
  for (auto& row : ring.producers) {
    const std::uint64_t who = row.who.load();
    if (who == 0 || os::is_alive(os::ProcessIdentity::from_packed(who))) continue;
    const std::int64_t slots = row.slots.exchange(0);
    if (slots > 0) ring.reserved.fetch_sub(static_cast<std::uint64_t>(slots));
    std::uint64_t expected = who;
    row.who.compare_exchange_strong(expected, 0);
  }
}

std::int64_t in_use(const RingState& ring) {
  // `taken` first: it never passes `reserved`, but both move while they are read.
  const auto taken = static_cast<std::int64_t>(ring.taken.load());
  return static_cast<std::int64_t>(ring.reserved.load()) - taken;
}

bool try_take(RingState& ring) {
  std::uint64_t reserved = ring.reserved.load();
  do {
    const std::int64_t used =
        static_cast<std::int64_t>(reserved) - static_cast<std::int64_t>(ring.taken.load());
    if (ring.maxsize > 0 && used >= ring.maxsize) return false;
  } while (!ring.reserved.compare_exchange_weak(reserved, reserved + 1));
  return true;
}

bool slot_taken(RingProducer& row) {
  row.slots.fetch_add(1);
  return true;
}

}  // namespace

bool ByteRing::take_slot(Deadline deadline) {
  RingState& ring = state();
  RingProducer& row = own_row(ring);
  const shm::WaitSite site{shm::WaitKind::kQueuePut, state_};
  const auto ready = [&] { return try_take(ring); };
  if (ready()) return slot_taken(row);
  shm::WaitScope whole(site, deadline);  // of which the waits below are parts
  while (!shm::await(ring.slots, site, deadline.min(Deadline::after(kLookForDead)), ready)) {
    reclaim_slots(ring);
    if (deadline.expired()) {
      if (!ready()) return false;
      break;
    }
  }
  return slot_taken(row);
}

void ByteRing::slot_written() noexcept { own_row(*state_).slots.fetch_sub(1); }

void ByteRing::return_slot() noexcept {
  slot_written();
  state_->reserved.fetch_sub(1);
  state_->slots.wake_all();
}

std::int64_t ByteRing::slots_taken() const { return std::max<std::int64_t>(in_use(state()), 0); }

bool ByteRing::slots_full() const {
  return state().maxsize > 0 && in_use(state()) >= state().maxsize;
}

}  // namespace plab::mp
