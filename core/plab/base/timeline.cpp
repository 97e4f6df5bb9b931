// SPDX-License-Identifier: Apache-2.0
#include "plab/base/timeline.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "plab/base/error.h"

namespace plab::timeline {

constinit std::atomic<bool> detail::on{false};

namespace {

constinit std::atomic<RingHeader*> g_ring{nullptr};
constinit std::atomic<bool> g_opening{false};
constinit std::atomic<bool> g_exited{false};
// Written before `on` is set with release, read after `on` or `g_opening` was seen.
constinit Backend g_backend{nullptr, nullptr};
thread_local constinit std::uint32_t t_thread_id = 0;

// The first event of the process opens the ring; the events of other threads are lost meanwhile.
RingHeader* open_ring() noexcept {
  if (g_opening.exchange(true)) return nullptr;
  RingHeader* ring = g_ring.load();
  if (ring == nullptr) {
    ring = g_backend.open();
    g_ring.store(ring, std::memory_order_release);  // pairs with the acquire in record()
    if (ring == nullptr) detail::on.store(false);
    g_opening.store(false);
    if (ring != nullptr) record({.kind = Kind::kStart, .label = ring->name});
    return ring;
  }
  g_opening.store(false);
  return ring;
}

RingHeader* current_ring() noexcept {
  RingHeader* const ring = g_ring.load(std::memory_order_acquire);
  return ring != nullptr ? ring : open_ring();
}

Record* slot_of(RingHeader& ring, std::uint64_t ticket) noexcept {
  auto* const first = reinterpret_cast<Record*>(&ring + 1);
  return first + (ticket & (ring.capacity - 1));
}

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::kStart:
      return "start";
    case Kind::kExit:
      return "exit";
    case Kind::kMap:
      return "map";
    case Kind::kUnmap:
      return "unmap";
    case Kind::kPut:
      return "put";
    case Kind::kGet:
      return "get";
    case Kind::kLockWait:
      return "lock wait";
    case Kind::kSpan:
      return "span";
    case Kind::kMark:
      return "mark";
    case Kind::kThread:
      return "thread";
  }
  return "?";
}

// A writer takes a ticket and then its slot. What it can find there:
//   1  an even number below its own: an old record or none; it claims the slot (compare-exchange)
//   2  an odd number: a thread that the ring has lapped is still writing; this event is dropped
//   3  a number above its own: this thread itself was lapped; this event is dropped
//   4  case 1, but another thread was faster with the compare-exchange; this event is dropped
// So no two threads ever write the same slot at once, and a reader that sees an even number that is
// the same before and after its copy has a whole record. A process that is killed in between leaves
// an odd number behind.
void record(const Event& event) noexcept {
  if (!enabled()) return;
  RingHeader* const ring = current_ring();
  if (ring == nullptr) return;
  if (t_thread_id == 0) t_thread_id = g_backend.thread_id();
  const std::uint64_t ticket = ring->next.fetch_add(1, std::memory_order_relaxed);
  Record& slot = *slot_of(*ring, ticket);
  std::uint64_t found = slot.sequence.load(std::memory_order_relaxed);
  if ((found & 1U) != 0 || found > 2 * ticket ||
      !slot.sequence.compare_exchange_strong(found, 2 * ticket + 1)) {  // cases 2, 3, 4
    ring->dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
#if !defined(__SANITIZE_THREAD__)  // it knows no fences; the readers here are other processes
  std::atomic_thread_fence(std::memory_order_release);  // case 1: the odd number is seen first
#endif
  slot.start_ns = event.start_ns != 0 ? event.start_ns : monotonic_ns();
  slot.duration_ns = event.duration_ns;
  slot.id = event.id;
  slot.value = event.value;
  slot.tid = t_thread_id;
  slot.kind = static_cast<std::uint8_t>(event.kind);
  const std::size_t length = std::min(event.label.size(), kLabelBytes);
  slot.label_bytes = static_cast<std::uint8_t>(length);
  if (length != 0) std::memcpy(slot.label, event.label.data(), length);
  slot.sequence.store(2 * ticket + 2, std::memory_order_release);
}

void name_process(std::string_view name) noexcept {
  if (!enabled()) return;
  RingHeader* const ring = current_ring();
  if (ring == nullptr) return;
  const std::size_t length = std::min(name.size(), kNameBytes - 1);
  std::memset(ring->name, 0, kNameBytes);
  if (length != 0) std::memcpy(ring->name, name.data(), length);
}

void record_exit(int code) noexcept {
  if (!enabled() || g_exited.exchange(true)) return;
  record({.kind = Kind::kExit, .label = "exit", .value = code});
}

RingHeader* make_ring(std::span<std::byte> memory, std::uint64_t capacity,
                      const ProcessInfo& process) {
  if (!std::has_single_bit(capacity) || capacity < 2 || capacity > kMostRecords) {
    throw ContractError(
        fmt::format("[base.timeline] a ring of {} records; give a power of two from 2 to {}",
                    capacity, kMostRecords));
  }
  if (memory.size() != ring_bytes(capacity) ||
      reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(RingHeader) != 0) {
    throw ContractError(fmt::format(
        "[base.timeline] {} bytes at {} for a ring of {} records; give {} bytes aligned "
        "to {}",
        memory.size(), static_cast<const void*>(memory.data()), capacity, ring_bytes(capacity),
        alignof(RingHeader)));
  }
  auto* const ring = reinterpret_cast<RingHeader*>(memory.data());
  ring->version = kVersion;
  ring->record_bytes = sizeof(Record);
  ring->capacity = capacity;
  ring->pid = process.pid;
  ring->parent_pid = process.parent_pid;
  ring->start_time = process.start_time;
  const std::size_t length = std::min(process.name.size(), kNameBytes - 1);
  if (length != 0) std::memcpy(ring->name, process.name.data(), length);
  ring->magic = kMagic;
  return ring;
}

void turn_on(const Backend& backend) noexcept {
  g_backend = backend;
  detail::on.store(true);
}

RingHeader* turn_off() noexcept {
  detail::on.store(false);
  return g_ring.exchange(nullptr);
}

RingHeader* forget_after_fork() noexcept {
  t_thread_id = 0;
  g_opening.store(false);  // another thread of the parent may have been in open_ring()
  g_exited.store(false);
  return g_ring.exchange(nullptr);
}

}  // namespace plab::timeline
