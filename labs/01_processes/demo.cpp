// SPDX-License-Identifier: Apache-2.0
// The demo of lab 01: four workers started in turn and together, one that is killed, and the join
// in the wrong place, which never ends. The lab tool proves that and ends it.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <vector>

#include "plab/base/deadline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/sync.h"
#include "plab/os/proc.h"

namespace demo01 {

using namespace plab;

constexpr int kWorkers = 4;

/// Stands for a tenth of a second of work.
void work(int rank) {
  fmt::print("  rank {} works in process {}\n", rank, os::self_identity().pid);
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void killed_in_the_middle(int /*rank*/) { static_cast<void>(std::raise(SIGKILL)); }

/// As every rank of a process group: goes on when all are here.
void work_in_a_group(int /*rank*/, mp::Barrier all_here) { (void)all_here.wait(Deadline::never()); }

double seconds_since(std::int64_t start) {
  return static_cast<double>(monotonic_ns() - start) / 1e9;
}

void one_after_the_other() {
  fmt::print("1. start, join, start, join ...\n");
  std::fflush(stdout);
  const std::int64_t start = monotonic_ns();
  for (int rank = 0; rank < kWorkers; ++rank) {
    mp::Process process(work, rank);
    process.start();
    process.join(Deadline::never());
  }
  fmt::print("  {:.2f} s: nothing ran at the same time\n", seconds_since(start));
}

void all_at_once() {
  fmt::print("2. start all, then join all\n");
  std::fflush(stdout);
  const std::int64_t start = monotonic_ns();
  std::vector<mp::Process> processes;
  for (int rank = 0; rank < kWorkers; ++rank) {
    processes.emplace_back(work, rank);
    processes.back().start();
  }
  for (mp::Process& process : processes) process.join(Deadline::never());
  fmt::print("  {:.2f} s\n", seconds_since(start));
}

void one_is_killed() {
  mp::Process process(killed_in_the_middle, 0);
  process.start();
  process.join(Deadline::never());
  fmt::print("3. a killed worker: exitcode() {}, signal_name() \"{}\"\n", *process.exitcode(),
             process.signal_name());
  std::fflush(stdout);
}

[[noreturn]] void join_in_the_start_loop() {
  fmt::print("4. workers that wait for each other, and the join in the start loop\n");
  std::fflush(stdout);
  const mp::Barrier all_here(kWorkers);
  for (int rank = 0;; ++rank) {
    mp::Process process(work_in_a_group, rank, all_here);
    process.start();
    process.join(Deadline::never());
  }
}

}  // namespace demo01

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  demo01::one_after_the_other();
  demo01::all_at_once();
  demo01::one_is_killed();
  demo01::join_in_the_start_loop();
}
