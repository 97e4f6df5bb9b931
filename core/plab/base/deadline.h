#pragma once
// SPDX-License-Identifier: Apache-2.0
// A point on the monotonic clock until which a call may block. Every blocking call of plab takes
// one.

#include <ctime>

#include <chrono>
#include <cstdint>

namespace plab {

/// Nanoseconds of CLOCK_MONOTONIC: the same clock in every process of this machine.
[[nodiscard]] std::int64_t monotonic_ns() noexcept;

/// Until when to wait. A value: copying it does not restart it.
class Deadline {
 public:
  /// Waits as long as it takes. Has to be written out: no call waits for ever by default.
  [[nodiscard]] static constexpr Deadline never() noexcept { return Deadline(kNever); }
  /// Already past: the call looks once and does not block.
  [[nodiscard]] static constexpr Deadline passed() noexcept { return Deadline(0); }
  /// `span` from now; a negative or zero span is passed(); one over 290 years is never().
  [[nodiscard]] static Deadline after(std::chrono::nanoseconds span) noexcept;
  /// The given nanosecond of monotonic_ns().
  [[nodiscard]] static constexpr Deadline at_ns(std::int64_t ns) noexcept { return Deadline(ns); }

  [[nodiscard]] constexpr bool is_never() const noexcept { return ns_ == kNever; }
  [[nodiscard]] bool expired() const noexcept;
  /// What is left, at least zero; nanoseconds::max() for never().
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
  /// What is left as a poll(2) time-out: rounded up, -1 for never().
  [[nodiscard]] int poll_timeout_ms() const noexcept;
  /// The absolute time for futex and pthread_*_clock*, CLOCK_MONOTONIC. Not for never().
  [[nodiscard]] std::timespec to_timespec() const noexcept;
  [[nodiscard]] constexpr std::int64_t ns() const noexcept { return ns_; }
  /// The earlier of two.
  [[nodiscard]] constexpr Deadline min(Deadline other) const noexcept {
    return ns_ < other.ns_ ? *this : other;
  }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  explicit constexpr Deadline(std::int64_t ns) noexcept : ns_(ns) {}
  std::int64_t ns_;
};

}  // namespace plab
