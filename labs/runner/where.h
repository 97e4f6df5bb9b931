#pragma once
// SPDX-License-Identifier: Apache-2.0
// `./lab` alone: where the learner is, and what to do next.

#include "verb.h"

namespace plab::lab {

/// Prints how many labs are passed, the lab that is next with its last verdict, and the commands
/// that go on from there. Never fails for a learner's state: a lost progress file is a fresh start.
void print_where(const Context& context);

}  // namespace plab::lab
