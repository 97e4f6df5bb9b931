#pragma once
// SPDX-License-Identifier: Apache-2.0
// Spinning before sleeping. A wait that another core ends within a microsecond or two must not cost
// a sleep and a wake-up (20 to 60 us); one that lasts must not keep a core busy.

#include <cstdint>

namespace plab::shm {

/// How long a thread spins, learnt from its own waits. Nothing is known about who ends a wait: on
/// another core spinning catches it, on the same core spinning only keeps it from running. So what
/// counts is whether a spin caught the end, and after a row of spins in vain one in 64 tries long
/// again.
class SpinBudget {
 public:
  static constexpr std::int64_t kLongest = 60'000;  // ns; about what a sleep and a wake-up cost
  /// Where spinning works it pays up to here: a sleep that a moment more would have saved costs
  /// several times that.
  static constexpr std::int64_t kWorthwhile = 10'000;
  static constexpr std::int64_t kShortest = 500;

  [[nodiscard]] std::int64_t ns() const noexcept {
    return misses_ != 0 && (misses_ % 64 == 0 || misses_ == 8) ? kLongest : budget_;
  }
  /// A spin saw the end of its wait after `took` nanoseconds.
  void caught(std::int64_t took) noexcept;
  /// A spin of ns() was in vain. One miss may be chance; from the second on the budget is halved.
  void missed() noexcept;

 private:
  std::int64_t budget_ = kLongest;
  std::uint32_t misses_ = 0;  // in a row
};

namespace detail {
using Ready = bool (*)(void*);
}

/// How long this thread spins now, in nanoseconds: PLAB_SPIN_US when set; 0 on a machine with one
/// core; otherwise its SpinBudget's.
[[nodiscard]] std::int64_t spin_budget_ns();

/// Spins at most that budget. True as soon as `ready()` is.
[[nodiscard]] bool spin(detail::Ready ready, void* data);

/// Tells the processor that this is a spin loop.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace plab::shm
