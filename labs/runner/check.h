#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab check`: builds the learner's file with the check of its lab, runs it under supervision, and
// says what came of it.

#include <cstdio>
#include <string>
#include <vector>

#include "labs.h"
#include "outcome.h"
#include "sanitize.h"

namespace plab::lab {

struct CheckOptions {
  std::uint64_t seed = 1;
  int repeat = 1;
  std::string start_method = "fork";
  std::optional<Limits> limits{};        ///< else those of the lab, on this machine
  std::optional<Sanitizer> sanitizer{};  ///< run the program that was built with it
  std::FILE* prints = stdout;            ///< where the program's own prints are shown
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

/// Options: [LAB] [--all] [--seed S] [--repeat R] [--start-method M] [--sanitize S] [--json]
int run_check_verb(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
