#pragma once
// SPDX-License-Identifier: Apache-2.0
// A process that hangs says where each of its threads is, when another process asks. No debugger
// and no right to trace is needed: a signal makes the thread write the addresses of its calls into
// a file.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plab/base/deadline.h"

namespace plab::os {

/// From now on a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) leaves the calls of its thread in
/// `folder` too, before it ends the process as ever. A signal that has a handler already keeps it,
/// and a stack overflow leaves nothing: there is no room to run.
///
/// And every thread of this process answers: it writes into `folder`. Takes the signal
/// SIGRTMAX - 4. A thread that blocks all signals, or that is interrupted inside the unwinder
/// itself, does not answer. @fork the child answers too; a program that is started is to call it
/// itself (mp::init does)
void answer_stack_requests(const std::filesystem::path& folder);

/// One call that is under way.
struct StackAddress {
  std::uint64_t address = 0;  ///< of the instruction: the call's own, not the one after it
  std::string module;         ///< the file that holds it; empty: none
  std::uint64_t offset = 0;   ///< of the address in that file, as addr2line takes it
  std::string symbol;         ///< mangled, as the dynamic linker knows it; may be empty
};

struct StackAnswer {
  int signal = 0;  ///< of read_faults: the fault
  pid_t pid = 0;
  pid_t tid = 0;
  std::vector<StackAddress> calls;  ///< the innermost first; empty when it did not answer
};

/// Asks every thread of a process. Nothing is sent to a process that does not answer such requests:
/// the signal would end it. The threads go on afterwards; a sleep is shortened.
/// @blocks until all have answered, or `deadline`
/// @param folder as the process knows it
[[nodiscard]] std::vector<StackAnswer> ask_for_stacks(pid_t pid,
                                                      const std::filesystem::path& folder,
                                                      Deadline deadline);

/// The calls of the threads whose faults ended processes that answer into `folder`.
[[nodiscard]] std::vector<StackAnswer> read_faults(const std::filesystem::path& folder);

}  // namespace plab::os
