#pragma once
// SPDX-License-Identifier: Apache-2.0
// Where the threads of a hung program are: function, file and line of each call that is under way.

#include <filesystem>
#include <string>
#include <vector>

namespace plab::lab {

struct Call {
  std::string function;  ///< readable; "?" when nobody knows
  std::string file;      ///< empty: not known
  int line = 0;
};

struct ThreadStack {
  int pid = 0;
  int tid = 0;
  int signal = 0;           ///< that ended it there; 0: it was asked
  std::vector<Call> calls;  ///< the innermost first; empty when the thread did not answer
};

/// Asks all threads of some processes, each of which must be watched by the table in `folder` (or
/// gives no answer), and finds the lines by addr2line. Without that program, or for a file without
/// debug information, only the functions are known.
/// @blocks a second at most, and as long as addr2line takes
[[nodiscard]] std::vector<ThreadStack> take_stacks(const std::vector<int>& pids,
                                                   const std::filesystem::path& folder);
/// The same of the threads whose faults ended watched processes.
[[nodiscard]] std::vector<ThreadStack> read_fault_stacks(const std::filesystem::path& folder);
/// The call that says most to a learner: the innermost one in a lab.cpp, else the innermost one
/// whose line is known, as "lab01::run_workers at labs/01_processes/lab.cpp:24". Empty when nothing
/// is known.
[[nodiscard]] std::string place_of(const ThreadStack& stack);
/// The outermost call below the first in a lab.cpp, or in any other file of a lab: in a process
/// that fork has made, the one that made it. As place_of.
[[nodiscard]] std::string maker_in(const ThreadStack& stack);
/// All of it, a line for each call.
[[nodiscard]] std::string text_of(const std::vector<ThreadStack>& stacks);

/// What addr2line prints for some addresses with -a -f -C -i: the calls of each, those that were
/// inlined first.
[[nodiscard]] std::vector<std::vector<Call>> read_addr2line(const std::string& printed);

}  // namespace plab::lab
