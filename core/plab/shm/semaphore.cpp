// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/semaphore.h"

#include "plab/base/error.h"

namespace plab::shm {

Semaphore::Semaphore(std::uint32_t permits, std::uint32_t most) : permits_(permits), most_(most) {
  if (most == 0 || most > kMost || permits > most) {
    throw ContractError(
        fmt::format("[shm.semaphore] {} permits of at most {}; valid are 0 <= permits <= most, and "
                    "most from 1 to {}",
                    permits, most, kMost));
  }
}

bool Semaphore::try_wait() noexcept {
  std::uint32_t have = permits_.load();
  while (have > 0) {
    if (permits_.compare_exchange_weak(have, have - 1)) return true;
  }
  return false;
}

bool Semaphore::wait(Deadline deadline, std::source_location where) {
  return await(parking_, {WaitKind::kSemaphore, this, where}, deadline,
               [this] { return try_wait(); });
}

void Semaphore::post(std::uint32_t permits, std::source_location where) {
  std::uint32_t have = permits_.load();
  do {
    if (permits > most_ - have) {
      throw ContractError(
          fmt::format("[shm.semaphore] {} more permits on top of {} are over the bound of {}; give "
                      "back only what was taken",
                      permits, have, most_),
          where);
    }
  } while (!permits_.compare_exchange_weak(have, have + permits));
  if (permits > 0) parking_.wake(static_cast<int>(permits));
}

}  // namespace plab::shm
