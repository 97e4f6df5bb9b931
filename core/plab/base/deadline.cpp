// SPDX-License-Identifier: Apache-2.0
#include "plab/base/deadline.h"

#include <algorithm>
#include <climits>

namespace plab {

std::int64_t monotonic_ns() noexcept {
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Deadline Deadline::after(std::chrono::nanoseconds span) noexcept {
  if (span.count() <= 0) return passed();
  const std::int64_t now = monotonic_ns();
  return span.count() >= kNever - now ? never() : Deadline(now + span.count());
}

bool Deadline::expired() const noexcept { return !is_never() && monotonic_ns() >= ns_; }

std::chrono::nanoseconds Deadline::remaining() const noexcept {
  if (is_never()) return std::chrono::nanoseconds::max();
  return std::chrono::nanoseconds(std::max<std::int64_t>(0, ns_ - monotonic_ns()));
}

int Deadline::poll_timeout_ms() const noexcept {
  if (is_never()) return -1;
  const std::int64_t left = remaining().count() / 1'000'000 + (remaining().count() % 1'000'000 > 0);
  return static_cast<int>(std::min<std::int64_t>(left, INT_MAX));
}

std::timespec Deadline::to_timespec() const noexcept {
  std::timespec when{};
  when.tv_sec = static_cast<std::time_t>(ns_ / 1'000'000'000);
  when.tv_nsec = static_cast<long>(ns_ % 1'000'000'000);
  return when;
}

}  // namespace plab
