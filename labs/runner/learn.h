#pragma once
// SPDX-License-Identifier: Apache-2.0
// The verbs of a learner beside `check`.

#include <optional>
#include <string>

#include "labs.h"

namespace plab::lab {

/// The lab of that name; without a name the first that is not passed. Tells when there is none.
[[nodiscard]] std::optional<Lab> choose_lab(const Context& context, const std::string& name);

int run_list(const Context& context, const Arguments& arguments);     ///< [--json]
int run_hint(const Context& context, const Arguments& arguments);     ///< [LAB] [--more]
int run_explain(const Context& context, const Arguments& arguments);  ///< CODE
int run_next(const Context& context, const Arguments& arguments);
int run_solution(const Context& context, const Arguments& arguments);  ///< LAB [--give-up]
int run_diff(const Context& context, const Arguments& arguments);      ///< LAB [--give-up]
int run_reset(const Context& context, const Arguments& arguments);     ///< LAB [--yes]

}  // namespace plab::lab
