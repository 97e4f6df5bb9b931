#pragma once
// SPDX-License-Identifier: Apache-2.0
// Sleeping on a 32-bit word in memory that several processes share.

#include <atomic>
#include <cstdint>

#include "plab/base/deadline.h"

namespace plab::os {

enum class FutexResult {
  kWoken,     ///< by a wake, or for no reason at all: look at the word again
  kChanged,   ///< the word did not hold the expected value: did not sleep
  kTimedOut,  ///< the deadline passed
};

/// Sleeps while `word` holds `expected`. A signal handler that runs meanwhile gives kWoken.
/// @blocks until woken or `deadline` (CLOCK_MONOTONIC)
/// @throws SystemError only for a word outside mapped memory
/// @fork a word in shared memory works across parent and child
FutexResult futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       Deadline deadline);

inline constexpr int kWakeAll = 0x7fffffff;
/// Wakes up to `count` sleepers, in any process; returns how many. A wake that reaches a process
/// which is just being killed is lost (Note: lost wake-ups).
int futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<std::uint32_t>) == 4);

}  // namespace plab::os
