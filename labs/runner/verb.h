#pragma once
// SPDX-License-Identifier: Apache-2.0
// What every verb of the lab tool shares: where the project and its build lie, and what an exit
// code means.
//
// A verb is a function `int run_x(const Context&, const Arguments&)` in a file of its own; main.cpp
// only picks it by name. The verb parses its own options (with `parse_options` below), so that
// `lab x --help` and every wrong option are answered the same way everywhere.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // its header is dear to compile: only who builds an App includes it
class App;
}

namespace plab::lab {

/// Where things are. All paths are absolute.
struct Context {
  std::filesystem::path source;  ///< the root of the project: labs/, core/, README.md
  std::filesystem::path build;   ///< the build folder that this tool was built in
};

/// The words after the verb, as the user typed them.
using Arguments = std::vector<std::string>;

/// The exit codes of the lab tool; scripts rely on them, so a number never changes its meaning.
enum ExitCode : int {
  kExitPassed = 0,
  kExitCheckFailed = 1,    ///< a check or a test failed, or doctor found a problem
  kExitNotCompiled = 2,    ///< the learner's file does not compile
  kExitHang = 3,           ///< a hang or a deadlock, proved
  kExitCrash = 4,          ///< a process died by a signal
  kExitLeftBehind = 5,     ///< passed, but left processes or shared memory behind
  kExitNotRunnable = 6,    ///< this machine lacks what it needs; never counted as passed
  kExitUntouched = 7,      ///< the skeleton has not been edited yet
  kExitSlow = 8,           ///< moving, but slower than the limit
  kExitUsage = 64,         ///< a wrong option or verb
  kExitBadData = 65,       ///< a file of the user holds bad data
  kExitToolDefect = 70,    ///< the tool itself is at fault
  kExitInterrupted = 130,  ///< Ctrl-C
};

/// Parses `arguments` with `app`.
/// @return nothing when the verb may go on; else the exit code to leave with (0 after --help, which
///         is printed on standard output; 64 after a wrong option, which is explained on standard
///         error)
[[nodiscard]] std::optional<int> parse_options(CLI::App& app, const Arguments& arguments);

/// True when descriptor `fd` is a terminal: the place for colour and for lines that are rewritten.
[[nodiscard]] bool is_terminal(int fd) noexcept;

}  // namespace plab::lab
