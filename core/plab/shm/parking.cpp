// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/parking.h"

#include <algorithm>
#include <chrono>

#include "plab/base/env.h"
#include "plab/base/timeline.h"
#include "plab/os/futex.h"
#include "plab/os/proc.h"

namespace plab::shm {

namespace {

constexpr std::int64_t kLongestSpin = 60'000;  // ns; about what a sleep and a wake-up cost
constexpr std::int64_t kShortestSpin = 1'000;
// Of a process with one core. Its partner may be pinned to another one: then most waits of a busy
// queue end within this. Or it may be on the same core: then this is what each wait wastes.
constexpr std::int64_t kPinnedSpin = 2'000;
constexpr auto kLookAgain = std::chrono::milliseconds(100);

// What this thread has learnt; -1: nothing yet.
thread_local constinit std::int64_t t_budget = -1;

// The fixed budget, or -1 when each thread learns its own.
std::int64_t fixed_budget() {
  static const std::int64_t budget = [] {
    if (const auto us = env::get_int("PLAB_SPIN_US", 0, 1'000'000)) return *us * 1000;
    return os::usable_cores() == 1 ? kPinnedSpin : std::int64_t{-1};
  }();
  return budget;
}

// A wait of `took` ns is over. Spinning twice that long would have caught it and most like it; a
// wait that no sensible spin catches makes the next spin shorter.
void learn(std::int64_t took) noexcept {
  const std::int64_t budget = t_budget < 0 ? kLongestSpin : t_budget;
  if (took < kLongestSpin) {
    t_budget = std::clamp(std::max(budget - budget / 16, 2 * took), kShortestSpin, kLongestSpin);
  } else {
    t_budget = std::max(budget - budget / 4, kShortestSpin);
  }
}

}  // namespace

std::int64_t spin_budget_ns() {
  const std::int64_t fixed = fixed_budget();
  if (fixed >= 0) return fixed;
  return t_budget < 0 ? kLongestSpin : t_budget;
}

bool spin(detail::Ready ready, void* data) {
  const std::int64_t budget = spin_budget_ns();
  if (budget == 0) return false;
  const std::int64_t start = monotonic_ns();
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      if (ready(data)) {
        learn(monotonic_ns() - start);
        return true;
      }
      relax();
    }
    if (monotonic_ns() - start >= budget) return false;
  }
}

WaitScope::~WaitScope() {
  if (site_.kind != WaitKind::kMutex || !timeline::enabled()) return;
  timeline::record({.kind = timeline::Kind::kLockWait,
                    .label = site_.where.function_name(),
                    .id = reinterpret_cast<std::uintptr_t>(site_.object),
                    .start_ns = since_ns_,
                    .duration_ns = monotonic_ns() - since_ns_});
}

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
  const WaitScope scope(site);
  const Sleeper sleeper(parking);
  for (;;) {
    const std::uint32_t sequence = parking.sequence.load();
    if (ready(data)) break;
    if (deadline.expired()) return false;
    os::futex_wait(parking.sequence, sequence, deadline.min(Deadline::after(kLookAgain)));
  }
  learn(monotonic_ns() - scope.since_ns());
  return true;
}

}  // namespace detail

}  // namespace plab::shm
