#pragma once
// SPDX-License-Identifier: Apache-2.0
// What besides lab.cpp has been changed: a pass counts only against the check and the core that
// plab came with.

#include <string>
#include <vector>

#include "labs.h"
#include "outcome.h"

namespace plab::lab {

/// The files of the core, of the labs' support and of this lab's check and header that are not as
/// they came, relative to the root. In a git clone: what differs from the last commit. Elsewhere
/// (an unpacked archive, no git): what differs from the first time that this was asked.
[[nodiscard]] std::vector<std::string> edited_files(const Context& context, const Lab& lab);

/// Makes a pass that was reached with edited files a failure (LAB-EDITED) that names them.
void look_for_edits(const Context& context, const Lab& lab, CheckResult& result);

}  // namespace plab::lab
