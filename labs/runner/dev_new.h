#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab dev new ID`: a lab that passes every gate but that of its own content.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "verb.h"

namespace plab::lab {

/// Writes the files of a new lab from labs/template, and its line in labs/CMakeLists.txt.
/// @param number of the lab; without it the one after the last
/// @return the files, relative to the root
/// @throws ContractError for an id that is not lower-case letters, digits and single hyphens, or
/// that
///         is there already, or a number that is taken or not in 1 to 99
std::vector<std::string> make_lab(const Context& context, const std::string& id,
                                  std::optional<int> number);

/// The lines of a lab's files that still say "TO WRITE", as "labs/04_x/README.md:5".
[[nodiscard]] std::vector<std::string> unwritten(const Context& context, const std::string& folder);

}  // namespace plab::lab
