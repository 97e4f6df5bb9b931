#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 03: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <cstdint>

#include "plab/mp/process.h"
#include "plab/shm/mutex.h"

namespace lab03 {

/// A log of this process: two numbers that agree whenever the lock is free. It is in the memory of
/// one process, so fork copies it, lock and all.
struct Journal {
  plab::shm::Mutex lock;
  std::int64_t begun = 0;
  std::int64_t written = 0;
};

/// This process's journal. Given.
Journal& journal();

/// Takes the lock, writes an entry, gives the lock back. Given; every worker does it.
void write_entry();

/// A thread that writes entries without a pause while it lives, as the thread of a logger does. It
/// holds the lock nearly all the time. Given.
class Flusher {
 public:
  Flusher();
  ~Flusher();
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;
};

/// Runs work(rank) in `count` processes made by fork, and a Flusher beside them, and returns when
/// the processes have ended. The cure is the order: no process is forked while a Flusher lives.
void run_before_threads(int count, void (*work)(int rank));

/// From now on this process may fork while a Flusher lives: in the child the journal is whole and
/// its lock is free, and the parent goes on as before.
void install_fork_handlers();

/// Starts work(rank) in a process that has no copy of this one's memory. Not joined.
plab::mp::Process start_clean_worker(void (*work)(int rank), int rank);

}  // namespace lab03
