#pragma once
// SPDX-License-Identifier: Apache-2.0
// Reads what CTest prints, line by line, and counts.

#include <string>
#include <string_view>

namespace plab::lab {

/// What CTest said about its tests so far.
class CTestOutput {
 public:
  enum class Line {
    kNoise,   ///< a start, a pass, a heading: not worth showing
    kResult,  ///< a test that was skipped or failed
    kOther,   ///< the output of a failed test, the list at the end
  };

  /// Takes one line without its end and says what it is.
  Line take(std::string_view line);

  [[nodiscard]] int passed() const noexcept { return passed_; }
  [[nodiscard]] int skipped() const noexcept { return skipped_; }
  /// Those that failed, timed out, crashed or could not be started, and those that CTest announced
  /// but never reported.
  [[nodiscard]] int failed(bool finished) const noexcept {
    return failed_ + (finished ? total_ - seen() : 0);
  }
  [[nodiscard]] int total() const noexcept { return total_; }
  [[nodiscard]] int seen() const noexcept { return passed_ + failed_ + skipped_; }
  /// The name of the test that was reported last.
  [[nodiscard]] const std::string& last() const noexcept { return last_; }

 private:
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
  int total_ = 0;
  std::string last_;
};

}  // namespace plab::lab
