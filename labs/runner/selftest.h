#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab selftest`: runs the project's tests (built before by ./lab) and counts them.

#include "verb.h"

namespace plab::lab {

/// Runs CTest in the build folder; the last line on standard output is "N passed, N failed", with
/// ", N skipped" when some were. `--quick` leaves out those with the label "slow".
/// @return 0, 1 when a test failed, 70 when there is no test to run, 130 after Ctrl-C
int run_selftest(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
