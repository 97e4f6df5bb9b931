#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab demo`: N processes train one shared network without locks, on real data.

#include "verb.h"

namespace plab::lab {

/// Parses the options and runs the demo; see `lab demo --help`.
/// @return an ExitCode: 0, 64 for a wrong option, 65 for bad data (before any process starts), 130
///         after Ctrl-C
int run_demo(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
