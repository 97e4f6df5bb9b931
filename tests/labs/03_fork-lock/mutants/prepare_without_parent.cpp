// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 03: the parent keeps the lock after the fork
#include "03_fork-lock/lab.hpp"

#include <pthread.h>

#include <new>
#include <vector>

#include "plab/os/thread.h"
#include "support/not_done.h"

namespace mp = plab::mp;
using plab::Deadline;

namespace lab03 {

void run_before_threads(int count, void (*work)(int rank)) {
  std::vector<mp::Process> workers;
  for (int rank = 0; rank < count; ++rank) {
    workers.emplace_back(mp::ProcessOptions{.start_method = mp::StartMethod::kFork}, work, rank);
    workers.back().start();
  }
  const Flusher flusher;
  for (auto& worker : workers) worker.join(Deadline::never());
}

void install_fork_handlers() {
  pthread_atfork(
      [] {
        if (journal().lock.owner().tid != plab::os::current_tid()) {
          (void)journal().lock.lock(Deadline::never());
        }
      },
      nullptr, [] { new (&journal().lock) plab::shm::Mutex; });
}

mp::Process start_clean_worker(void (*work)(int rank), int rank) {
  mp::Process worker(mp::ProcessOptions{.start_method = mp::StartMethod::kSpawn}, work, rank);
  worker.start();
  return worker;
}

}  // namespace lab03
