#pragma once
// SPDX-License-Identifier: Apache-2.0
// The verbs of a learner beside `check`.

#include "verb.h"

namespace plab::lab {

int run_list(const Context& context, const Arguments& arguments);     ///< [--json]
int run_hint(const Context& context, const Arguments& arguments);     ///< [LAB] [--more]
int run_explain(const Context& context, const Arguments& arguments);  ///< CODE
int run_next(const Context& context, const Arguments& arguments);
int run_solution(const Context& context, const Arguments& arguments);  ///< LAB [--give-up]
int run_diff(const Context& context, const Arguments& arguments);      ///< LAB [--give-up]
int run_reset(const Context& context, const Arguments& arguments);     ///< LAB [--yes]

}  // namespace plab::lab
