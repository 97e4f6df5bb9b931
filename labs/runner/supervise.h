#pragma once
// SPDX-License-Identifier: Apache-2.0
// Runs a program that may do anything: hang, crash, print without end, leave processes behind, kill
// its parent. Nothing of it is left afterwards, and what happened is known.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pace.h"
#include "plab/os/process.h"
#include "plab/shm/verdict.h"
#include "stacks.h"

namespace plab::lab {

struct RunRequest {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to this process's
  std::filesystem::path folder;      ///< for the table of waits; made if it is not there
  Limits limits{};                   ///< a deadlock is proved long before
  std::filesystem::path timeline{};  ///< its events show that it gets somewhere; may be empty
};

struct RunEnd {
  enum class How {
    kEnded,        ///< see status
    kDeadlock,     ///< see verdict
    kStuck,        ///< no end, nothing happens, and no proof of a deadlock
    kSlow,         ///< no end, but it gets somewhere
    kInterrupted,  ///< Ctrl-C
  };
  How how = How::kEnded;
  os::ExitStatus status{};
  bool parent_killed = false;  ///< the process that waits for it was ended; status is no more
  std::vector<std::string>
      crashed;  ///< of what it left: those that a fault had ended, each in words
  std::optional<shm::Verdict> verdict;
  std::vector<ThreadStack> faults;  ///< where threads were whose faults ended their processes
  std::vector<ThreadStack> stacks;  ///< of one that did not end: where each thread was
  std::vector<shm::Wait> waits;     ///< kStuck, kSlow: who waited for what
  std::vector<std::string>
      processes;           ///< kStuck, kSlow: each one, with its state and where it sleeps
  double cpu_seconds = 0;  ///< kStuck, kSlow: what it computed in the last second
  double seconds = 0;
  std::string output;  ///< what it printed: the beginning and the end, when it was much
  std::uint64_t output_bytes = 0;
  std::vector<std::string>
      left;  ///< what was still there after its end, each in words; it is gone now
};

/// @blocks until it ends, is judged, or is stuck
/// @throws SystemError when it cannot be started
[[nodiscard]] RunEnd run_supervised(const RunRequest& request);

}  // namespace plab::lab
