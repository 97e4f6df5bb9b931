#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab break`: a mistake is switched into the solution, the learner says what will come of it, and
// then sees it. `lab watch`: a check after every save.

#include "verb.h"

namespace plab::lab {

/// LAB [NAME] [--predict CODE]. Without NAME it lists the mistakes that there are.
int run_break(const Context& context, const Arguments& arguments);
/// [LAB] [--poll]. Until Ctrl-C.
int run_watch(const Context& context, const Arguments& arguments);

}  // namespace plab::lab
