#pragma once
// SPDX-License-Identifier: Apache-2.0
// A counting semaphore in shared memory.

#include <atomic>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "plab/base/deadline.h"
#include "plab/shm/parking.h"

namespace plab::shm {

/// Counts permits. Nobody owns a permit: one that a killed process had taken stays taken.
/// @procs any number @threads any number @fork a child may use it as any other process
class Semaphore {
 public:
  static constexpr std::uint32_t kMost = 0x7fffffff;
  /// `most`: post() beyond it is an error (a bounded semaphore).
  /// @throws ContractError when `permits` is over `most`, or `most` is 0 or over kMost
  explicit Semaphore(std::uint32_t permits, std::uint32_t most = kMost);
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  /// Takes a permit. False: the deadline passed first. @blocks until there is one or `deadline`
  [[nodiscard]] bool wait(Deadline deadline,
                          std::source_location where = std::source_location::current());
  /// Takes a permit if there is one now.
  [[nodiscard]] bool try_wait() noexcept;
  /// Gives permits back. @throws ContractError when there would be more than `most`; none is given
  void post(std::uint32_t permits = 1,
            std::source_location where = std::source_location::current());
  /// How many permits there are; may be outdated when the caller reads it.
  [[nodiscard]] std::uint32_t value() const noexcept { return permits_.load(); }
  [[nodiscard]] std::uint32_t most() const noexcept { return most_; }

 private:
  std::atomic<std::uint32_t> permits_;
  std::uint32_t most_;  // fixed after start
  Parking parking_;
};
static_assert(sizeof(Semaphore) == 16 && std::is_standard_layout_v<Semaphore>);

}  // namespace plab::shm
