// SPDX-License-Identifier: Apache-2.0
#include "ctest_output.h"

#include <regex>

namespace plab::lab {

// " 12/430 Test  #12: the name .......   Passed    0.05 sec"
// " 13/430 Test  #13: the name .......***Failed    0.05 sec" (also "***Failed  Error regular ...")
CTestOutput::Line CTestOutput::take(std::string_view line) {
  static const std::regex result(
      R"(^\s*\d+/(\d+) Test\s+#\d+: (.*?) \.*\s*(Passed|Skipped|\*\*\*[A-Z].*?)\s+\d+\.\d+ sec.*$)");
  static const std::regex noise(R"(^(\s*Start\s+\d+: .*|Test project .*|Internal ctest .*)$)");
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_match(line.begin(), line.end(), found, result)) {
    return std::regex_match(line.begin(), line.end(), noise) || line.empty() ? Line::kNoise
                                                                             : Line::kOther;
  }
  total_ = std::stoi(found[1]);
  last_ = found[2];
  const std::string status = found[3];
  if (status == "Passed") {
    ++passed_;
    return Line::kNoise;
  }
  const bool skipped = status == "***Skipped" || status.rfind("***Not Run (Disabled)", 0) == 0;
  ++(skipped ? skipped_ : failed_);
  return Line::kResult;
}

}  // namespace plab::lab
