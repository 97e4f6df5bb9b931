#pragma once
// SPDX-License-Identifier: Apache-2.0
// `lab demo N` and `lab trace N`: a lab's own program that shows the failure safely, and the
// timeline of the last run of its demo or its check.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "labs.h"
#include "supervise.h"

namespace plab::lab {

/// The timeline of one supervised run: all its processes record into one folder, also those that
/// are killed. Needs no end: the rings are removed by finish() or by the next recording.
class Recording {
 public:
  /// Forgets what an earlier run of this lab left.
  Recording(const Context& context, const Lab& lab);
  /// For the program that is to be recorded.
  [[nodiscard]] std::pair<std::string, std::string> environment() const;
  /// Writes timeline.html and timeline.json into folder(). Trouble is told, not thrown: a run
  /// without its picture is still a run.
  void finish(const std::string& title) const;
  /// Where the pictures of a lab are.
  [[nodiscard]] static std::filesystem::path folder(const Context& context, const Lab& lab);

 private:
  std::filesystem::path folder_;
};

/// What came of a lab's demo.
struct LabDemoEnd {
  int exit_code = kExitToolDefect;  ///< as ./lab demo N exits
  std::string code;                 ///< the verdict it ended in; empty when it ended well
  RunEnd run;
};

/// Runs the demo's program, which is built. Draws its timeline, and who waited for whom if that was
/// a deadlock.
/// @blocks until it has ended or is judged
[[nodiscard]] LabDemoEnd run_lab_demo(const Context& context, const Lab& lab);

int run_lab_demo_verb(const Context& context, const Arguments& arguments);  ///< LAB
int run_trace(const Context& context, const Arguments& arguments);          ///< [LAB]

}  // namespace plab::lab
