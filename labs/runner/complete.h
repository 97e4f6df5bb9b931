#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the Tab key offers. The shells' side is in completion/.

#include <string>
#include <vector>

#include "verb.h"

namespace plab::lab {

/// What may stand in the place of the last of `words` (which may be empty), sorted: verbs, then
/// labs, mistakes or verdict codes, as the verb takes them. `words` begins after `./lab`.
/// @param verbs the names of all verbs
[[nodiscard]] std::vector<std::string> completions(const Context& context, const Arguments& words,
                                                   const std::vector<std::string>& verbs);

}  // namespace plab::lab
