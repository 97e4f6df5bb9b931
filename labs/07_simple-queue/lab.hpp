#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 07: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <source_location>

#include "plab/mp/archive.h"
#include "plab/shm/mutex.h"
#include "plab/shm/semaphore.h"
#include "plab/shm/shared.h"

namespace lab07 {

// Word, Slot, Semaphore and Lock do what their names say, in shared memory. The check also runs
// your code on a memory of its own, in which whatever C++ allows does happen: a relaxed store
// arrives late, two sides meet at the worst moment. (It sees these four only: no fences, no
// atomics of your own.)

/// An atomic number: std::atomic<std::uint64_t> with the operations that a queue needs.
class Word {
 public:
  [[nodiscard]] std::uint64_t load(std::memory_order order = std::memory_order_seq_cst) const;
  void store(std::uint64_t value, std::memory_order order = std::memory_order_seq_cst);
  std::uint64_t exchange(std::uint64_t value, std::memory_order order = std::memory_order_seq_cst);

 private:
  friend class Model;
  std::atomic<std::uint64_t> value_{0};
};

/// A message.
struct Item {
  std::int32_t writer = 0;
  std::int32_t pid = 0;
  std::uint64_t number = 0;  ///< the writer's first is 0, its next 1 ...
  std::array<std::uint64_t, 4> payload{};
  friend bool operator==(const Item&, const Item&) = default;
};

/// A place for one message: plain memory, not atomic.
class Slot {
 public:
  void write(const Item& item);
  [[nodiscard]] Item read() const;

 private:
  Item item_;
};

/// shm::Semaphore, with no permits at first. Its operations are sequentially consistent.
class Semaphore {
 public:
  /// Takes a permit. @blocks until there is one
  void wait(std::source_location where = std::source_location::current());
  /// Gives one.
  void post();
  /// How many threads are in wait() now.
  [[nodiscard]] std::uint32_t waiting() const { return waiting_.load(); }

 private:
  plab::shm::Semaphore permits_{0};
  std::atomic<std::uint32_t> waiting_{0};
};

/// shm::Mutex, for std::lock_guard.
class Lock {
 public:
  void lock();
  void unlock();

 private:
  plab::shm::Mutex mutex_;
};

/// The queue, in shared memory: many writers, one reader. Positions only grow; position p is in
/// slot p modulo the capacity. head == tail: empty.
struct Ring {
  static constexpr std::uint32_t kMostSlots = 16;

  explicit Ring(std::uint32_t count) : capacity(count) {}

  std::uint32_t capacity;  ///< 1 to kMostSlots - 1; fixed after start
  Word tail;               ///< the next position to write; only a writer in its turn stores it
  Word head;               ///< the next position to read; only the reader stores it
  Word reader_asleep;      ///< 1: the reader sleeps on `data`, or is about to
  Word writer_asleep;      ///< 1: a writer sleeps on `room`, or is about to
  Semaphore data;
  Semaphore room;
  Lock writers;  ///< writers take turns by it
  std::array<Slot, kMostSlots> slots;
};

/// A handle of a Ring that travels to other processes.
class SharedRing {
 public:
  SharedRing() = default;
  explicit SharedRing(std::uint32_t slots) : ring_(plab::shm::Shared<Ring>::create(slots)) {}
  [[nodiscard]] Ring& operator*() const { return *ring_; }
  [[nodiscard]] Ring* operator->() const { return ring_.get(); }
  void save(plab::mp::wire::Writer& out) const {
    out.encoder().number(out.encoder().block(ring_.block()));
  }
  void load(plab::mp::wire::Reader& in) {
    ring_ =
        plab::shm::Shared<Ring>::adopt(in.decoder().block(in.decoder().number<std::uint32_t>()));
  }

 private:
  plab::shm::Shared<Ring> ring_;
};

/// Puts a message behind the others. Any number of processes may call it at the same time.
/// @blocks while `capacity` messages are in the ring
void put(Ring& ring, const Item& item);

/// Takes the oldest message. One process calls it.
/// @blocks while the ring is empty
[[nodiscard]] Item get(Ring& ring);

/// Returns when ready() holds, and sleeps until then. `asleep` is the flag by which the other side
/// knows that it has to post `bell`. No permit is left in `bell` when it returns.
void sleep_until(Word& asleep, Semaphore& bell, const std::function<bool()>& ready);

/// Wakes the other side if it sleeps; call it after what it waits for was stored.
void wake(Word& asleep, Semaphore& bell);

}  // namespace lab07
