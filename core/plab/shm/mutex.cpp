// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/mutex.h"

#include <cerrno>

#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/os/thread.h"
#include "plab/shm/parking.h"

namespace plab::shm {

namespace {

LockOwner from_word(std::uint64_t word) noexcept {
  return {static_cast<std::int32_t>(word >> 32U), static_cast<std::int32_t>(word & 0xffffffffU)};
}

std::uint64_t own_word() noexcept {
  return static_cast<std::uint64_t>(os::current_pid()) << 32U |
         static_cast<std::uint64_t>(os::current_tid());
}

}  // namespace

Mutex::Mutex() {
  pthread_mutexattr_t attributes;
  int code = pthread_mutexattr_init(&attributes);
  if (code == 0) code = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (code == 0) code = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  // Error checking: a second lock() by its owner and an unlock() by a stranger are reported.
  if (code == 0) code = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  if (code == 0) code = pthread_mutex_init(&native_, &attributes);
  pthread_mutexattr_destroy(&attributes);
  if (code != 0) throw SystemError("[shm.mutex] a robust process-shared mutex", code);
}

// What a lock call of the C library came to; the lock is held for 0 and EOWNERDEAD.
LockResult Mutex::settle(int code) {
  if (code == ETIMEDOUT || code == EBUSY) return {};
  LockResult result{LockResult::Kind::kAcquired, 0};
  if (code == EOWNERDEAD) {
    // Usable from here on; the caller is told and repairs what the lock protects.
    pthread_mutex_consistent(&native_);
    result = {LockResult::Kind::kOwnerDied, from_word(owner_.load()).pid};
  } else if (code != 0) {
    throw SystemError("[shm.mutex] lock", code);
  }
  owner_.store(own_word(), std::memory_order_relaxed);
  return result;
}

LockResult Mutex::try_lock() {
  const int code = pthread_mutex_trylock(&native_);
  return settle(code == EDEADLK ? EBUSY : code);
}

LockResult Mutex::lock(Deadline deadline, std::source_location where) {
  int code = pthread_mutex_trylock(&native_);
  if (code == EBUSY && deadline.ns() != 0) {
    struct Attempt {
      pthread_mutex_t* native;
      int code;
    } attempt{&native_, EBUSY};
    const bool done = spin(
        [](void* data) {
          auto& self = *static_cast<Attempt*>(data);
          self.code = pthread_mutex_trylock(self.native);
          return self.code != EBUSY;
        },
        &attempt);
    code = attempt.code;
    if (!done) {
      code = sleep(deadline, {WaitKind::kMutex, this, where});
    }
  }
  if (code == EDEADLK) {
    throw ContractError(
        fmt::format("[shm.mutex] thread {} of process {} holds this lock already; it is not "
                    "recursive: unlock it first",
                    os::current_tid(), os::current_pid()),
        where);
  }
  return settle(code);
}

// The kernel wakes who may have the lock next, so nobody needs to look again; only a watcher wants
// to be told now and then who holds it.
int Mutex::sleep(Deadline deadline, const WaitSite& site) {
  WaitScope scope(site, deadline);
  while (WaitScope::watched()) {
    scope.look();
    const int code = pthread_mutex_trylock(&native_);
    if (code != EBUSY) return code;
    const LockOwner holder = owner();
    scope.looked(holder.pid, holder.tid);
    const std::timespec until = deadline.min(Deadline::after(kLookAgain)).to_timespec();
    const int slept = pthread_mutex_clocklock(&native_, CLOCK_MONOTONIC, &until);
    if (slept != ETIMEDOUT || deadline.expired()) return slept;
  }
  if (deadline.is_never()) return pthread_mutex_lock(&native_);
  const std::timespec until = deadline.to_timespec();
  return pthread_mutex_clocklock(&native_, CLOCK_MONOTONIC, &until);
}

void Mutex::unlock(std::source_location where) {
  const std::uint64_t word = owner_.load(std::memory_order_relaxed);
  if (word != own_word()) {
    const LockOwner holder = from_word(word);
    throw ContractError(
        fmt::format("[shm.mutex] unlock by thread {} of process {}, which does not hold the lock "
                    "({}); only its holder may unlock it",
                    os::current_tid(), os::current_pid(),
                    holder.pid == 0
                        ? std::string("nobody does")
                        : fmt::format("thread {} of process {} does", holder.tid, holder.pid)),
        where);
  }
  owner_.store(0, std::memory_order_relaxed);
  if (const int code = pthread_mutex_unlock(&native_); code != 0) {
    throw SystemError("[shm.mutex] unlock", code, where);
  }
}

LockOwner Mutex::owner() const noexcept { return from_word(owner_.load()); }

LockGuard::LockGuard(Mutex& mutex, Deadline deadline, std::source_location where)
    : mutex_(mutex), result_(mutex.lock(deadline, where)) {
  if (result_.acquired()) return;
  const LockOwner holder = mutex.owner();
  throw TimeoutError(fmt::format("[shm.mutex] the lock was not free before the deadline; thread {} "
                                 "of process {} holds it",
                                 holder.tid, holder.pid),
                     where);
}

LockGuard::~LockGuard() {
  try {
    mutex_.unlock();
  } catch (const std::exception& problem) {
    log::error("{}", problem.what());
  }
}

}  // namespace plab::shm
