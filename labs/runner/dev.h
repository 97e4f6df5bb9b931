#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab dev`: for those who write labs. It never writes progress.

#include "verb.h"

namespace plab::lab {

/// dev check [LAB] [--json] [--seeds N] [--sanitize]: the gates of each lab. dev sync [LAB]: cuts
/// lab.cpp from the solution. dev cut IN OUT: the same for one file, for the build. dev new ID
/// [--number N]: a lab whose content is still to be written.
int run_dev(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
