#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab doctor` and `lab env`: what this machine offers, what is wrong with it, what to do about it.

#include "verb.h"

namespace plab::lab {

/// Prints one line per finding and, for each problem, what mends it; `--json` for programs.
/// @return 0, or 1 when a finding stops the labs from running as they should
int run_doctor(const Context& context, const Arguments& arguments);

/// Prints the environment variables of plab: name, value now, what holds otherwise, meaning.
int run_env(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
