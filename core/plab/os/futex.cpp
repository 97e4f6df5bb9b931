// SPDX-License-Identifier: Apache-2.0
#include "plab/os/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plab/os/syscall.h"

namespace plab::os {

FutexResult futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       Deadline deadline) {
  std::timespec until{};
  if (!deadline.is_never()) until = deadline.to_timespec();
  // FUTEX_WAIT_BITSET takes an absolute time on CLOCK_MONOTONIC; without FUTEX_PRIVATE_FLAG the
  // key is the memory, not the address, so it works across processes.
  const long rc =
      ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected,
                deadline.is_never() ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
  if (rc == 0 || errno == EINTR) return FutexResult::kWoken;
  if (errno == EAGAIN) return FutexResult::kChanged;
  if (errno == ETIMEDOUT) return FutexResult::kTimedOut;
  fail("[os.futex] FUTEX_WAIT_BITSET");
}

int futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept {
  const int saved = errno;
  const long woken = ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
  errno = saved;
  return woken < 0 ? 0 : static_cast<int>(woken);
}

}  // namespace plab::os
