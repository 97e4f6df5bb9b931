// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 01: the work is done here, one rank after the other
#include "01_processes/lab.hpp"

#include "support/not_done.h"

namespace mp = plab::mp;
using plab::Deadline;

namespace lab01 {

std::vector<Ending> run_workers(int count, const Job& job) {
  std::vector<mp::Process> processes;
  for (int rank = 0; rank < count; ++rank) {
    processes.emplace_back([](int) {}, rank);
    processes.back().start();
    Job alone = job;
    alone.hellos.put({rank, 0}, Deadline::never());
  }
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
}

std::vector<std::string> failures(const std::vector<Ending>& endings) {
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
}

}  // namespace lab01
