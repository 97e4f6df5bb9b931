// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/condition.h"

namespace plab::shm {

Condition::Result Condition::wait(Mutex& mutex, Deadline deadline, std::source_location where) {
  const std::uint32_t before = notified_.load();
  mutex.unlock(where);
  Result result;
  result.notified = await(parking_, {WaitKind::kCondition, this, where}, deadline,
                          [&] { return notified_.load() != before; });
  result.lock = mutex.lock(Deadline::never(), where);
  return result;
}

}  // namespace plab::shm
