#pragma once
// SPDX-License-Identifier: Apache-2.0
// How a thread waits: it spins for a short time that it has learnt, then sleeps on a futex. Every
// blocking operation of plab goes through here, so that who waits for what is known in one place.

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "plab/base/deadline.h"
#include "plab/shm/spin.h"
#include "plab/shm/wait.h"

namespace plab::shm {

/// A place in shared memory where threads of several processes sleep until a condition holds.
/// Zero bytes are a valid one. Waking costs no system call while nobody sleeps. A process that is
/// killed while it sleeps costs its wakers one needless system call each from then on, no more.
///
/// A wake-up that reaches a process which is just being killed is lost, and the sleeper that should
/// have had it stays asleep. So every sleeper looks again after 100 ms (Note: lost wake-ups).
/// @procs any number @threads any number @fork a child may use it as any other process
struct Parking {
  std::atomic<std::uint32_t> sequence{0};  ///< the futex: changes at each wake
  std::atomic<std::uint32_t> sleepers{0};

  /// Wakes one or all sleepers. Call it after the change that they wait for is stored.
  void wake_one() noexcept { wake(1); }
  void wake_all() noexcept { wake(0x7fffffff); }
  void wake(int count) noexcept;
};
static_assert(sizeof(Parking) == 8 && std::is_standard_layout_v<Parking>);

namespace detail {
bool await_slow(Parking& parking, const WaitSite& site, Deadline deadline, Ready ready, void* data);
}  // namespace detail

/// Waits until `ready()` is true; false when the deadline passes first. `ready` is called often, by
/// this thread only; it may take what it waits for (as a semaphore does). It must not block.
/// @blocks until ready or `deadline`
template <typename Condition>
[[nodiscard]] bool await(Parking& parking, const WaitSite& site, Deadline deadline,
                         Condition&& ready) {
  if (ready()) return true;
  using Type = std::remove_reference_t<Condition>;
  return detail::await_slow(
      parking, site, deadline, [](void* data) -> bool { return (*static_cast<Type*>(data))(); },
      const_cast<std::remove_const_t<Type>*>(std::addressof(ready)));
}

}  // namespace plab::shm
