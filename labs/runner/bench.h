#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab bench`: measures plab beside its peers in one run.

#include "verb.h"

namespace plab::lab {

/// Parses the options and runs the benchmarks; see `lab bench --help`.
/// @return an ExitCode: 0 when every row meets its goal, 1 when one misses it, 64 for a wrong
/// option
int run_bench(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
