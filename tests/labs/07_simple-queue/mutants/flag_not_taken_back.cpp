// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 07: the flag stays up when the second look finds a message
#include "07_simple-queue/lab.hpp"

#include <mutex>

#include "support/not_done.h"

namespace lab07 {

void put(Ring& ring, const Item& item) {
  const std::lock_guard turn(ring.writers);
  const std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);  // nobody else stores it
  sleep_until(ring.writer_asleep, ring.room,
              [&] { return tail - ring.head.load() < ring.capacity; });
  ring.slots[tail % ring.capacity].write(item);
  ring.tail.store(tail + 1);
  wake(ring.reader_asleep, ring.data);
}

Item get(Ring& ring) {
  const std::uint64_t head = ring.head.load(std::memory_order_relaxed);  // nobody else stores it
  sleep_until(ring.reader_asleep, ring.data, [&] { return ring.tail.load() != head; });
  const Item item = ring.slots[head % ring.capacity].read();
  ring.head.store(head + 1);
  wake(ring.writer_asleep, ring.room);
  return item;
}

void sleep_until(Word& asleep, Semaphore& bell, const std::function<bool()>& ready) {
  while (!ready()) {
    asleep.store(1);
    if (ready()) {
      return;
    }
    bell.wait();
  }
}

void wake(Word& asleep, Semaphore& bell) {
  if (asleep.exchange(0) == 1) bell.post();
}

}  // namespace lab07
