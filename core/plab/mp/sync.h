#pragma once
// SPDX-License-Identifier: Apache-2.0
// Locks, events and barriers for processes: handles that travel, over the objects of shm. Copies of
// a handle stand for one object; a forked child uses the same object. By what start method a
// process came does not matter (in Python a lock of one context is refused by another).

#include <chrono>
#include <cstdint>
#include <source_location>
#include <utility>

#include "plab/base/deadline.h"
#include "plab/mp/archive.h"
#include "plab/shm/barrier.h"
#include "plab/shm/condition.h"
#include "plab/shm/event.h"
#include "plab/shm/mutex.h"
#include "plab/shm/semaphore.h"
#include "plab/shm/shared.h"

namespace plab::mp {

namespace detail {

/// The handle of a T in shared memory; what the classes below derive from.
template <typename T>
class SharedHandle {
 public:
  void save(wire::Writer& out) const { out.encoder().number(out.encoder().block(shared_.block())); }
  void load(wire::Reader& in) {
    shared_ = shm::Shared<T>::adopt(in.decoder().block(in.decoder().number<std::uint32_t>()));
  }

 protected:
  SharedHandle() = default;
  explicit SharedHandle(shm::Shared<T> shared) : shared_(std::move(shared)) {}
  /// @throws ContractError for a handle made by unbound()
  [[nodiscard]] T& get() const {
    if (!shared_) {
      throw ContractError("[mp.sync] this handle stands for nothing (made by unbound())");
    }
    return *shared_;
  }

 private:
  shm::Shared<T> shared_;
};

/// A recursive lock: a mutex and how often its owner has it.
struct Recursive {
  shm::Mutex mutex;
  std::uint64_t depth = 0;  // protected by mutex
};

/// A condition with its lock.
struct Monitor {
  shm::Mutex mutex;
  shm::Condition condition;
};

}  // namespace detail

using shm::LockResult;

/// A mutual exclusion lock. When its owner dies, the next one gets it and is told.
class Lock : public detail::SharedHandle<shm::Mutex> {
 public:
  Lock() : SharedHandle(shm::Shared<shm::Mutex>::create()) {}
  [[nodiscard]] static Lock unbound() { return Lock(Nothing{}); }
  /// @blocks until free or `deadline` @throws ContractError when this thread has it already
  [[nodiscard]] LockResult acquire(Deadline deadline,
                                   std::source_location where = std::source_location::current()) {
    return get().lock(deadline, where);
  }
  [[nodiscard]] LockResult try_acquire() { return get().try_lock(); }
  /// @throws ContractError when this thread does not have it
  void release() { get().unlock(); }
  [[nodiscard]] shm::LockOwner owner() const { return get().owner(); }

 private:
  struct Nothing {};
  explicit Lock(Nothing /*tag*/) {}
};

/// A lock that its owner may take again; it is free after as many releases.
class RLock : public detail::SharedHandle<detail::Recursive> {
 public:
  RLock() : SharedHandle(shm::Shared<detail::Recursive>::create()) {}
  [[nodiscard]] static RLock unbound() { return RLock(Nothing{}); }
  /// @blocks until free or `deadline`; not at all for its owner
  [[nodiscard]] LockResult acquire(Deadline deadline,
                                   std::source_location where = std::source_location::current());
  /// @throws ContractError when this thread does not have it
  void release();

 private:
  struct Nothing {};
  explicit RLock(Nothing /*tag*/) {}
};

/// Takes a Lock or an RLock for the rest of the block.
template <typename L>
class Guard {
 public:
  /// @blocks until the lock is free or `deadline` @throws TimeoutError when the deadline passes
  /// first
  Guard(L& lock, Deadline deadline, std::source_location where = std::source_location::current())
      : lock_(lock), result_(lock.acquire(deadline, where)) {
    if (!result_.acquired()) {
      throw TimeoutError("[mp.sync] the lock was not free before the deadline");
    }
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { lock_.release(); }
  /// Whether the owner before died: what the lock protects may be half changed.
  [[nodiscard]] bool owner_died() const noexcept { return result_.owner_died(); }

 private:
  L& lock_;
  LockResult result_;
};

/// Permits that processes take and give back. Those of a killed process stay taken.
class Semaphore : public detail::SharedHandle<shm::Semaphore> {
 public:
  explicit Semaphore(std::uint32_t permits)
      : SharedHandle(shm::Shared<shm::Semaphore>::create(permits)) {}
  [[nodiscard]] static Semaphore unbound() { return Semaphore(Nothing{}); }
  Semaphore() : Semaphore(1) {}
  /// False: none until the deadline. @blocks until there is one or `deadline`
  [[nodiscard]] bool acquire(Deadline deadline,
                             std::source_location where = std::source_location::current()) {
    return get().wait(deadline, where);
  }
  void release(std::uint32_t permits = 1) { get().post(permits); }
  [[nodiscard]] std::uint32_t value() const { return get().value(); }

 protected:
  struct Nothing {};
  explicit Semaphore(Nothing /*tag*/) {}
  explicit Semaphore(shm::Shared<shm::Semaphore> shared) : SharedHandle(std::move(shared)) {}
};

/// A semaphore that refuses more releases than it had permits at first.
class BoundedSemaphore : public Semaphore {
 public:
  explicit BoundedSemaphore(std::uint32_t permits)
      : Semaphore(shm::Shared<shm::Semaphore>::create(permits, permits)) {}
  BoundedSemaphore() : BoundedSemaphore(1) {}
  [[nodiscard]] static BoundedSemaphore unbound() { return BoundedSemaphore(Nothing{}); }

 private:
  explicit BoundedSemaphore(Nothing tag) : Semaphore(tag) {}
};

/// A flag that processes wait for.
class Event : public detail::SharedHandle<shm::Event> {
 public:
  Event() : SharedHandle(shm::Shared<shm::Event>::create()) {}
  [[nodiscard]] static Event unbound() { return Event(Nothing{}); }
  void set() { get().set(); }
  void clear() { get().clear(); }
  [[nodiscard]] bool is_set() const { return get().is_set(); }
  /// False: not set until the deadline. @blocks until set or `deadline`
  [[nodiscard]] bool wait(Deadline deadline,
                          std::source_location where = std::source_location::current()) {
    return get().wait(deadline, where);
  }

 private:
  struct Nothing {};
  explicit Event(Nothing /*tag*/) {}
};

/// Waiting for a change of shared data, with the lock that protects it.
class Condition : public detail::SharedHandle<detail::Monitor> {
 public:
  Condition() : SharedHandle(shm::Shared<detail::Monitor>::create()) {}
  [[nodiscard]] static Condition unbound() { return Condition(Nothing{}); }
  [[nodiscard]] LockResult acquire(Deadline deadline,
                                   std::source_location where = std::source_location::current()) {
    return get().mutex.lock(deadline, where);
  }
  void release() { get().mutex.unlock(); }
  /// Releases the lock, waits, takes it again. False: the deadline passed. May return early.
  /// @blocks until notified or `deadline`, and until the lock is free
  /// @throws ContractError when this thread does not have the lock
  [[nodiscard]] bool wait(Deadline deadline,
                          std::source_location where = std::source_location::current()) {
    return get().condition.wait(get().mutex, deadline, where).notified;
  }
  /// Waits until `ready()`. False: it is not so at the deadline.
  template <std::predicate Predicate>
  [[nodiscard]] bool wait_for(Predicate ready, Deadline deadline,
                              std::source_location where = std::source_location::current()) {
    return get().condition.wait_for(get().mutex, deadline, std::move(ready), nullptr, where);
  }
  void notify_one() { get().condition.notify_one(); }
  void notify_all() { get().condition.notify_all(); }

 private:
  struct Nothing {};
  explicit Condition(Nothing /*tag*/) {}
};

/// Lets `parties` go on together; tells them when one of them died instead.
class Barrier : public detail::SharedHandle<shm::Barrier> {
 public:
  using Result = shm::Barrier::Result;
  explicit Barrier(std::uint32_t parties)
      : SharedHandle(shm::Shared<shm::Barrier>::create(parties)) {}
  Barrier() : Barrier(1) {}
  [[nodiscard]] static Barrier unbound() { return Barrier(Nothing{}); }
  /// @blocks until all wait, one died, or `deadline`
  [[nodiscard]] Result wait(Deadline deadline,
                            std::source_location where = std::source_location::current()) {
    return get().wait(deadline, where);
  }
  void abort() { get().abort(); }
  void reset() { get().reset(); }
  /// This process takes part no longer: its end breaks nothing.
  void leave() { get().leave(); }
  [[nodiscard]] std::uint32_t parties() const { return get().parties(); }

 private:
  struct Nothing {};
  explicit Barrier(Nothing /*tag*/) {}
};

}  // namespace plab::mp
