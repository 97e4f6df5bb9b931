#pragma once
// SPDX-License-Identifier: Apache-2.0
// What this process knows about itself, and what it does at its end. For the files of mp.

#include <string>

namespace plab::mp {

/// One per process. Written while the process starts, by its first thread; read from then on.
struct ProcessState {
  std::string name = "main";
  bool daemon = false;
  bool child = false;        ///< started by plab
  bool init_called = false;  ///< so that a fresh process of this program can take over
  std::string program;       ///< argv[0]
};
[[nodiscard]] ProcessState& process_state() noexcept;

/// Ends daemons (SIGTERM, SIGKILL after two seconds), then joins the feeders of queues. Called once
/// at the end of a process, by exit() or exit_process().
void finish_process() noexcept;
/// Sees to it that exit() and a return from main call finish_process.
void finish_at_exit();

// The two parts; each is in the file that owns the list.
void end_daemons() noexcept;
void join_feeders() noexcept;

}  // namespace plab::mp
