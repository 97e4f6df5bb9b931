// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/parking.h"

#include "plab/os/futex.h"

namespace plab::shm {

// Why no wake-up is missed. The sleeper adds itself to `sleepers`, then looks at the condition; the
// waker stores the condition, then looks at `sleepers`, by a read-modify-write too. Those two on
// one word have an order:
//   case 1: the sleeper's is first: the waker sees it, changes `sequence` and wakes. The sleeper
//           has read `sequence` before its last look at the condition; the kernel compares it with
//           the word before it lets the thread sleep.
//   case 2: the waker's is first: the sleeper's acquires what the waker stored before, so its look
//           at the condition finds it true.
void Parking::wake(int count) noexcept {
  if (sleepers.fetch_add(0) == 0) return;  // case 2
  sequence.fetch_add(1);                   // case 1
  os::futex_wake(sequence, count);
}

namespace detail {

namespace {
struct Sleeper {
  explicit Sleeper(Parking& parking) : parking_(parking) { parking_.sleepers.fetch_add(1); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { parking_.sleepers.fetch_sub(1); }

 private:
  Parking& parking_;
};
}  // namespace

bool await_slow(Parking& parking, const WaitSite& site, Deadline deadline, Ready ready,
                void* data) {
  if (deadline.ns() == 0) return false;
  if (spin(ready, data)) return true;
  WaitScope scope(site, deadline);
  const Sleeper sleeper(parking);
  for (;;) {
    const std::uint32_t sequence = parking.sequence.load();
    scope.look();
    if (ready(data)) break;
    if (deadline.expired()) return false;
    scope.looked();
    os::futex_wait(parking.sequence, sequence, deadline.min(Deadline::after(kLookAgain)));
  }
  return true;
}

}  // namespace detail

}  // namespace plab::shm
