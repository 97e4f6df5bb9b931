#pragma once
// SPDX-License-Identifier: Apache-2.0
// A condition variable in shared memory. The C library's process-shared ones lose their state when
// a waiter is killed; this one is a counter and a futex, which no death can leave half changed.

#include <atomic>
#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "plab/base/deadline.h"
#include "plab/shm/mutex.h"
#include "plab/shm/parking.h"

namespace plab::shm {

/// Waits for a change of what a Mutex protects. Zero bytes are a valid one.
/// @procs any number @threads any number @fork a child may use it as any other process
class Condition {
 public:
  struct Result {
    bool notified = false;  ///< false: the deadline passed
    LockResult lock;        ///< how the mutex was taken again: always held, its owner may have died
  };
  /// Unlocks `mutex`, waits, locks it again. May return without a notify: test the condition in a
  /// loop, or use the other wait(). A notify that comes after the call began is never missed.
  /// @blocks until notified or `deadline`, and then until the mutex is free
  /// @throws ContractError when this thread does not hold `mutex`
  [[nodiscard]] Result wait(Mutex& mutex, Deadline deadline,
                            std::source_location where = std::source_location::current());
  /// Waits until `ready()`, which is called with the mutex held. False: the deadline passed and
  /// it is still not so. When an owner of the mutex died meanwhile, `*died` is set.
  template <std::predicate Predicate>
  [[nodiscard]] bool wait_for(Mutex& mutex, Deadline deadline, Predicate ready,
                              LockResult* died = nullptr,
                              std::source_location where = std::source_location::current()) {
    while (!ready()) {
      const Result result = wait(mutex, deadline, where);
      if (died != nullptr && result.lock.owner_died()) *died = result.lock;
      if (!result.notified) return ready();
    }
    return true;
  }
  /// Wakes at least one waiter, if there is one. The caller should hold the mutex.
  void notify_one() noexcept {
    notified_.fetch_add(1);
    parking_.wake_one();
  }
  /// Wakes all waiters.
  void notify_all() noexcept {
    notified_.fetch_add(1);
    parking_.wake_all();
  }

 private:
  std::atomic<std::uint32_t> notified_{0};
  Parking parking_;
};
static_assert(sizeof(Condition) == 12 && std::is_standard_layout_v<Condition>);

}  // namespace plab::shm
