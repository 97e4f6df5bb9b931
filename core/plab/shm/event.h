#pragma once
// SPDX-License-Identifier: Apache-2.0
// A flag in shared memory that processes wait for.

#include <atomic>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "plab/base/deadline.h"
#include "plab/shm/parking.h"

namespace plab::shm {

/// A flag, at first not set. Zero bytes are a valid one.
/// @procs any number @threads any number @fork a child may use it as any other process
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  /// Sets the flag and wakes all waiters; what was written before is visible to them.
  void set() noexcept {
    flag_.store(1);
    parking_.wake_all();
  }
  void clear() noexcept { flag_.store(0); }
  [[nodiscard]] bool is_set() const noexcept { return flag_.load() != 0; }
  /// True when the flag was seen set; false: the deadline passed first. A waiter may miss a flag
  /// that is set and cleared at once. @blocks until set or `deadline`
  [[nodiscard]] bool wait(Deadline deadline,
                          std::source_location where = std::source_location::current()) {
    return await(parking_, {WaitKind::kEvent, this, where}, deadline, [this] { return is_set(); });
  }

 private:
  std::atomic<std::uint32_t> flag_{0};
  Parking parking_;
};
static_assert(sizeof(Event) == 12 && std::is_standard_layout_v<Event>);

}  // namespace plab::shm
