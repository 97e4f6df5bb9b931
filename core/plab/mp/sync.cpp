// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/sync.h"

#include "plab/os/thread.h"

namespace plab::mp {

namespace {

bool is_own(const shm::Mutex& mutex) {
  const auto owner = mutex.owner();
  return owner.pid == os::current_pid() && owner.tid == os::current_tid();
}

}  // namespace

LockResult RLock::acquire(Deadline deadline, std::source_location where) {
  detail::Recursive& lock = get();
  if (is_own(lock.mutex)) {
    ++lock.depth;
    return {LockResult::Kind::kAcquired, 0};
  }
  const LockResult result = lock.mutex.lock(deadline, where);
  if (result.acquired()) lock.depth = 1;
  return result;
}

void RLock::release() {
  detail::Recursive& lock = get();
  if (is_own(lock.mutex) && --lock.depth != 0) return;
  lock.mutex.unlock();  // refuses a stranger
}

}  // namespace plab::mp
