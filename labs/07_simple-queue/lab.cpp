// SPDX-License-Identifier: Apache-2.0
// Lab 07: a bounded queue in shared memory. The only file that you edit.
#include "07_simple-queue/lab.hpp"

#include <mutex>

#include "support/not_done.h"

namespace lab07 {

void put(Ring& ring, const Item& item) {
  // TODO(1): in its turn (std::lock_guard with ring.writers) the writer sleeps while the ring is
  // full (sleep_until with writer_asleep and room), writes the slot, and only then moves tail.
  // What the reader sees of tail, it must see of the slot too. Then it wakes the reader.
  throw plab::lab::NotDone{1};
}

Item get(Ring& ring) {
  // TODO(2): the other side: sleep while the ring is empty, read the slot, and only then move
  // head, so that no writer overwrites what is still being read. Then wake the writer.
  throw plab::lab::NotDone{2};
}

void sleep_until(Word& asleep, Semaphore& bell, const std::function<bool()>& ready) {
  // TODO(3): between "it is not ready" and "I sleep" the other side may come by, find no flag, and
  // go. So: raise the flag, look again, and only then wait for the bell; the store of the flag and
  // the look after it must not change places. When the second look finds it ready after all, take
  // the flag back; if it is gone already, a permit is on its way: wait for it.
  throw plab::lab::NotDone{3};
}

void wake(Word& asleep, Semaphore& bell) {
  // TODO(4): lower the flag; whoever found it raised, and nobody else, posts the bell.
  throw plab::lab::NotDone{4};
}

}  // namespace lab07
