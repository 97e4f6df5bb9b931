#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a blocking operation says about itself while it blocks. Every wait of plab that really
// sleeps goes through a WaitScope, so that a watcher (watcher.h) can tell who waits for whom.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <source_location>
#include <span>

#include "plab/base/deadline.h"

namespace plab::shm {

/// How often a sleeper looks at its condition by itself (Note: lost wake-ups).
inline constexpr std::chrono::milliseconds kLookAgain{100};

/// What kind of thing a wait is for.
enum class WaitKind : std::uint8_t {
  kMutex,
  kCondition,
  kSemaphore,
  kBarrier,
  kEvent,
  kQueueGet,    ///< a message of a queue
  kQueuePut,    ///< room or a slot in a queue
  kRecv,        ///< a message of a Connection
  kSend,        ///< room in a Connection
  kJoin,        ///< the end of a process
  kJoinThread,  ///< a queue's feeder, until all is written
  kIdle,        ///< a thread of plab's own that waits for work from its process
  kOther,
};
[[nodiscard]] const char* name_of(WaitKind kind) noexcept;

/// What a blocking call says about itself.
struct WaitSite {
  WaitKind kind = WaitKind::kOther;
  const void* object = nullptr;  ///< in this process's memory; what a lock, a queue is
  std::source_location where = std::source_location::current();
  std::span<const pid_t> pids{};  ///< kJoin: of the processes, the end of any of which is enough
};

namespace detail {
/// The line of the outermost call into plab that this thread is in; line 0: in none.
extern thread_local constinit std::source_location t_call_site;
}  // namespace detail

/// Who called plab: the outermost of a thread counts, and stands for all waits within it. So a wait
/// deep in a queue names the line that put, not the queue's own.
class CallSite {
 public:
  explicit CallSite(const std::source_location& where) noexcept
      : outermost_(detail::t_call_site.line() == 0) {
    if (outermost_) detail::t_call_site = where;
  }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite() {
    if (outermost_) detail::t_call_site = {};
  }

 private:
  bool outermost_;
};

/// Stands for one wait that really blocks, from just before the thread sleeps until it goes on. It
/// puts locks into the timeline. With a wait table (PLAB_WATCH_TABLE) it is a record there; without
/// one it costs a few nanoseconds. Scopes within a scope of the same thread are
/// parts of the outer one.
class WaitScope {
 public:
  /// @param deadline that of the call: a wait that ends by itself is no part of a deadlock
  WaitScope(const WaitSite& site, Deadline deadline) noexcept;
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;
  ~WaitScope();

  /// Whether somebody may be looking: then a sleeper wakes up at least every kLookAgain, and calls
  /// look() before it looks at its condition.
  [[nodiscard]] static bool watched() noexcept;
  /// Starts a look: what is said by looked() was true after this moment.
  void look() noexcept { looked_at_ns_ = watched() ? monotonic_ns() : 0; }
  /// The condition did not hold. Asks who could make it hold, and says so in the table.
  /// @param owner_pid and owner_tid: of a lock, who holds it
  void looked(pid_t owner_pid = 0, pid_t owner_tid = 0) noexcept;

 private:
  const WaitSite& site_;
  std::int64_t since_ns_;  // 0: it is not for the timeline
  std::int64_t looked_at_ns_ = 0;
  bool recorded_ = false;
};

}  // namespace plab::shm
