#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a run of a check came to: from the file that the check wrote, from how its program ended,
// and from what a sanitizer found.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "labs.h"
#include "sanitize.h"
#include "supervise.h"

namespace plab::lab {

/// What one run of a check came to.
struct CheckResult {
  int exit_code = kExitToolDefect;  ///< as ./lab check exits
  std::string code;                 ///< of the verdict; empty for a pass and for an untouched hole
  std::string seen;                 ///< with numbers and pids; several lines
  std::string where;                ///< the case that failed
  std::vector<std::string> proved;
  std::filesystem::path stacks;   ///< file with the calls of all threads of a hang; may be empty
  std::vector<std::string> left;  ///< what the check's own process still held at its end
  int todo = 0;                   ///< of the hole that is not filled
  std::uint64_t seed = 0;
  double seconds = 0;
};

/// The first few of them, a line each, and how many more there are.
[[nodiscard]] std::string some_of(const std::vector<std::string>& things);
/// From the file that the check wrote; false when there is none.
[[nodiscard]] bool take_result(const std::filesystem::path& file, CheckResult& result);
/// The end of the program, where it says more than the file.
void judge_end(const Lab& lab, const RunEnd& end, bool has_result, CheckResult& result);
/// A finding outweighs all else. Its whole text goes into `file`.
void judge_finding(const SanitizerFinding& finding, const std::filesystem::path& file,
                   CheckResult& result);

}  // namespace plab::lab
