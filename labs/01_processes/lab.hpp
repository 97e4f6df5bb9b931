#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 01: what lab.cpp has to provide. Do not change this file; the check relies on it.

#include <string>
#include <vector>

#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/sync.h"

namespace lab01 {

/// What a worker says about itself.
struct Hello {
  int rank = 0;
  int pid = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(rank, pid);
  }
};

/// What every worker gets along with its rank.
struct Job {
  plab::mp::SimpleQueue<Hello> hellos;
  plab::mp::Barrier all_here;  ///< opens when all workers run at the same time
  std::vector<int> endings;  ///< by rank: how it ends. 0 and more: exit code; less: by that signal
  template <class Archive>
  void serialize(Archive& archive) {
    archive(hellos, all_here, endings);
  }
};

/// The work of one rank. Given; it is what your processes run.
void work(int rank, Job job);

/// How one worker ended.
struct Ending {
  int rank = 0;
  int pid = 0;
  int exit_code = 0;   ///< what it exited with; meaningless when a signal ended it
  std::string signal;  ///< "SIGKILL"; empty when it ended by itself
};

/// Runs work(rank, job) in `count` processes, one for each rank from 0, all at the same time.
/// Returns when all of them have ended, with one Ending for each rank, in the order of the ranks.
std::vector<Ending> run_workers(int count, const Job& job);

/// One line for each that did not end well, in the order of the ranks: "rank 2: exit code 7" or
/// "rank 3: SIGKILL".
std::vector<std::string> failures(const std::vector<Ending>& endings);

}  // namespace lab01
