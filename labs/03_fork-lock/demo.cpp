// SPDX-License-Identifier: Apache-2.0
// The hazard, safely: a thread holds the journal's lock while this process forks. The child waits
// for a lock whose owner was not copied; the watcher proves that nobody will ever unlock it.
#include <chrono>
#include <cstdio>
#include <thread>

#include "plab/base/timeline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/sync.h"
#include "plab/shm/mutex.h"

using namespace plab;

namespace {

shm::Mutex& journal_lock() {
  static shm::Mutex lock;  // in the memory of this process: fork copies it
  return lock;
}

void write_entry() {
  const shm::LockGuard guard(journal_lock(), Deadline::never());
  std::puts("child: got the lock");
}

}  // namespace

int main(int argc, char** argv) {
  mp::init(argc, argv);
  mp::Event held;
  mp::Event over;
  std::jthread flusher([&] {
    timeline::name_thread("flusher");
    const shm::LockGuard guard(journal_lock(), Deadline::never());
    held.set();
    (void)over.wait(Deadline::after(std::chrono::seconds(10)));
  });
  (void)held.wait(Deadline::never());
  std::puts("parent: the flusher's thread holds the journal's lock; now this thread forks");
  std::fflush(stdout);
  mp::Process child(mp::kForkOnly, mp::ProcessOptions{.name = "child"}, write_entry);
  child.start();
  child.join(Deadline::never());
  over.set();
}
