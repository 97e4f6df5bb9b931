// SPDX-License-Identifier: Apache-2.0
#include "plab/os/thread.h"

#include <pthread.h>
#include <unistd.h>
#include "plab/base/early.h"

namespace plab::os {

namespace {

struct Numbers {
  pid_t pid = 0;
  pid_t tid = 0;
};
thread_local constinit Numbers t_numbers;

void forget() noexcept { t_numbers = {}; }

const Early g_early([] { ::pthread_atfork(nullptr, nullptr, &forget); });

const Numbers& numbers() noexcept {
  if (t_numbers.tid == 0) {
    t_numbers = {::getpid(), ::gettid()};
  }
  return t_numbers;
}

}  // namespace

pid_t current_pid() noexcept { return numbers().pid; }
pid_t current_tid() noexcept { return numbers().tid; }

}  // namespace plab::os
