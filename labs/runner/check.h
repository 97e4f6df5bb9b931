#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab check`: builds the learner's file with the check of its lab, runs it under supervision, and
// says what came of it.

#include <string>
#include <vector>

#include "labs.h"
#include "supervise.h"

namespace plab::lab {

/// What one run of a check came to.
struct CheckResult {
  int exit_code = kExitToolDefect;  ///< as ./lab check exits
  std::string code;                 ///< of the verdict; empty for a pass and for an untouched hole
  std::string seen;                 ///< with numbers and pids; several lines
  std::string where;                ///< the case that failed
  std::vector<std::string> proved;
  int todo = 0;  ///< of the hole that is not filled
  std::uint64_t seed = 0;
  double seconds = 0;
};

struct CheckOptions {
  std::uint64_t seed = 1;
  int repeat = 1;
  std::string start_method = "fork";
  double seconds = 20;                                         ///< and two more for each repeat
  enum class Timeline { kNo, kYes } timeline = Timeline::kNo;  ///< for `lab trace`
};

/// Builds a target of the build folder. Empty: it is built; else the first error that the compiler
/// gave, and the file that has all of them.
[[nodiscard]] std::string build_target(const Context& context, const std::string& target);
/// The name of the target and program of a lab's check: "lab_01_processes", with `kind` behind it.
[[nodiscard]] std::string target_of(const Lab& lab, const std::string& kind);
/// Runs a program that was built as such.
[[nodiscard]] CheckResult run_check(const Context& context, const Lab& lab,
                                    const std::string& target, const CheckOptions& options);
/// At most 25 lines.
[[nodiscard]] std::string report(const Lab& lab, const CheckResult& result);

/// Options: [LAB] [--all] [--seed S] [--repeat R] [--start-method M] [--json]
int run_check_verb(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
