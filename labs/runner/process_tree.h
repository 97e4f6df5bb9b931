#pragma once
// SPDX-License-Identifier: Apache-2.0
// What /proc says about the processes of a run.

#include <string>
#include <vector>

namespace plab::lab {

/// utime + stime of a process, in seconds; 0 when it is gone.
[[nodiscard]] double cpu_of(int pid);
/// Whether one of its threads runs, would if a core were free, or waits for a disk.
[[nodiscard]] bool is_runnable(int pid);
/// Its children, theirs, and so on.
[[nodiscard]] std::vector<int> tree_below(int pid);
/// The name of its program; "?" when it is gone.
[[nodiscard]] std::string command_of(int pid);
/// "process 4711 (lab_01) thread 4711: S in futex_do_wait", for each thread.
[[nodiscard]] std::vector<std::string> threads_in_words(int pid);
}  // namespace plab::lab
