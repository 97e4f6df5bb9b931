// SPDX-License-Identifier: Apache-2.0
// Lab 01: processes. The only file that you edit.
#include "01_processes/lab.hpp"

#include "support/not_done.h"

namespace mp = plab::mp;
using plab::Deadline;

namespace lab01 {

std::vector<Ending> run_workers(int count, const Job& job) {
  //! TODO(1): start all `count` processes, each as mp::Process(work, rank, job). Afterwards all of
  //! them run at the same time: none waits for another to end.
  std::vector<mp::Process> processes;
  for (int rank = 0; rank < count; ++rank) {
    processes.emplace_back(work, rank, job);
    processes.back().start();
  }
  //! END
  //! TODO(2): wait until every process has ended, and say how: its pid, its exit code, and the
  //! signal if one ended it (see Process::join, exitcode and signal_name).
  std::vector<Ending> endings;
  for (int rank = 0; rank < count; ++rank) {
    mp::Process& process = processes[static_cast<std::size_t>(rank)];
    process.join(Deadline::never());
    endings.push_back({.rank = rank,
                       .pid = process.pid(),
                       .exit_code = process.exitcode().value(),
                       .signal = process.signal_name()});
  }
  return endings;
  //! END
}

std::vector<std::string> failures(const std::vector<Ending>& endings) {
  //! TODO(3): name each rank that did not end well, by its signal or by its exit code.
  std::vector<std::string> lines;
  for (const Ending& ending : endings) {
    const std::string rank = "rank " + std::to_string(ending.rank) + ": ";
    if (!ending.signal.empty()) {
      lines.push_back(rank + ending.signal);
    } else if (ending.exit_code != 0) {
      lines.push_back(rank + "exit code " + std::to_string(ending.exit_code));
    }
  }
  return lines;
  //! END
}

}  // namespace lab01
