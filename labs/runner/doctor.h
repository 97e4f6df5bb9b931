#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab doctor` and `lab env`: what this machine offers, what is wrong with it, what to do about it.

#include <string>
#include <vector>

#include "machine.h"
#include "verb.h"

namespace plab::lab {

enum class Judgement {
  kOk,
  kNote,     ///< worth knowing; everything still runs
  kProblem,  ///< something of plab fails or misleads on this machine until it is mended
};

/// One line of the doctor's report.
struct Finding {
  std::string name;
  std::string value;
  Judgement state = Judgement::kOk;
  std::string remedy;  ///< what to do about it; empty when there is nothing to do
};

/// What the readings mean, in the order in which they are printed. Every note and every problem
/// has a remedy.
[[nodiscard]] std::vector<Finding> judge(const Machine& machine);

/// Prints one line per finding and, for each problem, what mends it; `--json` for programs.
/// @return 0, or 1 when there is a problem
int run_doctor(const Context& context, const Arguments& arguments);

/// Prints the environment variables of plab: name, value now, what holds otherwise, meaning.
int run_env(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
