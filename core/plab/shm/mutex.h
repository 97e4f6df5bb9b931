#pragma once
// SPDX-License-Identifier: Apache-2.0
// A lock in shared memory that survives the death of its owner.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "plab/base/deadline.h"
#include "plab/shm/wait.h"

namespace plab::shm {

/// How lock() ended.
struct LockResult {
  enum class Kind {
    kAcquired,   ///< this thread has the lock
    kOwnerDied,  ///< this thread has the lock; the one before died with it: what the lock protects
                 ///< may be half changed and is to be repaired before unlock()
    kTimedOut,   ///< the deadline passed; this thread does not have the lock
  };
  Kind kind = Kind::kTimedOut;
  std::int32_t dead_pid = 0;  ///< kOwnerDied: who; 0 when it died too early to leave its number
  [[nodiscard]] bool acquired() const noexcept { return kind != Kind::kTimedOut; }
  [[nodiscard]] bool owner_died() const noexcept { return kind == Kind::kOwnerDied; }
};

/// Who holds a lock; zeros when nobody does. May be outdated when the caller reads it.
struct LockOwner {
  std::int32_t pid = 0;
  std::int32_t tid = 0;
};

/// A mutex for threads of several processes. Lives in shared memory (see Shared<T>); the kernel
/// hands it on when its owner, a thread, ends without unlock(). Not recursive.
/// @procs any number @threads any number
/// @fork a lock that the forking thread holds stays the parent's; the child's unlock() is a
/// ContractError and its lock() waits for the parent
/// The memory must stay mapped while this process holds or waits for the lock.
class Mutex {
 public:
  /// @throws SystemError when the C library has no robust process-shared mutexes
  Mutex();
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  /// @blocks until the lock is free or `deadline`; about 30 ns when it is free
  /// @throws ContractError when this thread holds it already
  [[nodiscard]] LockResult lock(Deadline deadline,
                                std::source_location where = std::source_location::current());
  /// Takes the lock when it is free at once; kTimedOut otherwise, also when this thread holds it.
  [[nodiscard]] LockResult try_lock();
  /// @throws ContractError when this thread does not hold it; the message names who does
  void unlock(std::source_location where = std::source_location::current());

  [[nodiscard]] LockOwner owner() const noexcept;

 private:
  LockResult settle(int code);
  int sleep(Deadline deadline, const WaitSite& site);

  pthread_mutex_t native_;
  std::atomic<std::uint64_t> owner_{0};  // pid << 32 | tid; written by who holds the lock
};
static_assert(std::is_standard_layout_v<Mutex> && std::is_trivially_destructible_v<Mutex>);
static_assert(sizeof(Mutex) == sizeof(pthread_mutex_t) + 8);

/// Holds a lock to the end of the block.
class LockGuard {
 public:
  /// @throws TimeoutError naming the owner when the deadline passes first
  LockGuard(Mutex& mutex, Deadline deadline,
            std::source_location where = std::source_location::current());
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;
  ~LockGuard();
  /// Whether the owner before died: see LockResult.
  [[nodiscard]] const LockResult& result() const noexcept { return result_; }

 private:
  Mutex& mutex_;
  LockResult result_;
};

}  // namespace plab::shm
