// SPDX-License-Identifier: Apache-2.0
// Lab 07: a bounded queue in shared memory. The only file that you edit.
#include "07_simple-queue/lab.hpp"

#include <mutex>

#include "support/not_done.h"

namespace lab07 {

void put(Ring& ring, const Item& item) {
  //! TODO(1): in its turn (std::lock_guard with ring.writers) the writer sleeps while the ring is
  //! full (sleep_until with writer_asleep and room), writes the slot, and only then moves tail.
  //! What the reader sees of tail, it must see of the slot too. Then it wakes the reader.
  const std::lock_guard turn(ring.writers);
  const std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);  // nobody else stores it
  sleep_until(ring.writer_asleep, ring.room,
              [&] { return tail - ring.head.load() < ring.capacity; });
  ring.slots[tail % ring.capacity].write(item);
  ring.tail.store(tail + 1);
  wake(ring.reader_asleep, ring.data);
  //! END
}

Item get(Ring& ring) {
  //! TODO(2): the other side: sleep while the ring is empty, read the slot, and only then move
  //! head, so that no writer overwrites what is still being read. Then wake the writer.
  const std::uint64_t head = ring.head.load(std::memory_order_relaxed);  // nobody else stores it
  sleep_until(ring.reader_asleep, ring.data, [&] { return ring.tail.load() != head; });
  const Item item = ring.slots[head % ring.capacity].read();
  ring.head.store(head + 1);
  wake(ring.writer_asleep, ring.room);
  return item;
  //! END
}

void sleep_until(Word& asleep, Semaphore& bell, const std::function<bool()>& ready) {
  //! TODO(3): between "it is not ready" and "I sleep" the other side may come by, find no flag, and
  //! go. So: raise the flag, look again, and only then wait for the bell; the store of the flag and
  //! the look after it must not change places. When the second look finds it ready after all, take
  //! the flag back; if it is gone already, a permit is on its way: wait for it.
  while (!ready()) {
    asleep.store(1);
    if (ready()) {
      if (asleep.exchange(0) == 0) bell.wait();
      return;
    }
    bell.wait();
  }
  //! END
}

void wake(Word& asleep, Semaphore& bell) {
  //! TODO(4): lower the flag; whoever found it raised, and nobody else, posts the bell.
  if (asleep.exchange(0) == 1) bell.post();
  //! END
}

}  // namespace lab07
