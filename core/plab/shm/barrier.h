#pragma once
// SPDX-License-Identifier: Apache-2.0
// A barrier in shared memory that says which participant died instead of waiting for it for ever.

#include <array>
#include <atomic>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "plab/base/deadline.h"
#include "plab/os/process.h"
#include "plab/shm/mutex.h"
#include "plab/shm/parking.h"

namespace plab::shm {

/// Lets `parties` threads of any processes go on together, again and again. It breaks, for all,
/// when one waiter's deadline passes, when abort() is called, or when a process that takes part
/// dies; it stays broken until reset(). A process takes part from its first wait() or its enroll()
/// on; one that ends well after its last wait() should leave() if the others go on without it.
/// @procs up to 256 different ones @threads any number
/// @fork a child takes part only after a call of its own
class Barrier {
 public:
  static constexpr std::uint32_t kMostProcesses = 256;

  struct Result {
    enum class Kind { kPassed, kTimedOut, kBroken };
    Kind kind = Kind::kBroken;
    std::uint32_t index = 0;    ///< kPassed: 0 for the first that came, parties - 1 for the last
    std::int32_t dead_pid = 0;  ///< kBroken by a death: whose; 0 otherwise
    [[nodiscard]] bool passed() const noexcept { return kind == Kind::kPassed; }
  };

  /// @throws ContractError for 0 parties
  explicit Barrier(std::uint32_t parties);
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// @blocks until all parties wait, the barrier breaks, or `deadline`. A death is noticed within
  /// about 100 ms.
  /// @throws ResourceError when over kMostProcesses processes take part
  [[nodiscard]] Result wait(Deadline deadline,
                            std::source_location where = std::source_location::current());
  /// Breaks it; `dead_pid` is what waiters are told (0: nobody died).
  void abort(std::int32_t dead_pid = 0);
  /// Like new: who waits now gets kBroken, who takes part is forgotten.
  void reset();
  /// Names a process that will take part, so that its death counts before its first wait().
  void enroll(os::ProcessIdentity who);
  /// This process no longer takes part: its end breaks nothing.
  void leave();

  [[nodiscard]] bool is_broken() const noexcept { return broken_.load() != 0; }
  [[nodiscard]] std::uint32_t parties() const noexcept { return parties_; }
  /// How many wait now; may be outdated when the caller reads it.
  [[nodiscard]] std::uint32_t waiting() const noexcept { return arrived_.load(); }

 private:
  void lock();
  void add_locked(os::ProcessIdentity who);
  void break_locked(std::int32_t dead_pid) noexcept;
  [[nodiscard]] std::int32_t find_dead() const noexcept;
  [[nodiscard]] bool over(std::uint32_t phase) const noexcept;
  [[nodiscard]] Result verdict(std::uint32_t phase, std::uint32_t index) const noexcept;

  Mutex mutex_;
  std::uint32_t parties_;                  // fixed after start
  std::atomic<std::uint32_t> arrived_{0};  // protected by mutex_; read without it
  std::atomic<std::uint32_t> phase_{0};    // protected by mutex_; read without it
  std::atomic<std::uint32_t> broken_{0};
  std::atomic<std::int32_t> dead_pid_{0};
  Parking parking_;
  std::atomic<std::uint64_t> failed_{0};  // bit n: the last phase that is n modulo 64 failed
  std::array<std::atomic<std::uint64_t>, kMostProcesses> processes_{};  // packed; 0: no one
};
static_assert(std::is_standard_layout_v<Barrier>);

}  // namespace plab::shm
