#pragma once
// SPDX-License-Identifier: Apache-2.0
// Runs `lab demo` as a user does, and looks at what it leaves behind.

#include <filesystem>
#include <string>
#include <vector>

#include "plab/os/process.h"
#include "plab/os/temp.h"
#include "support/gate.h"

namespace plab::test {

/// How a run of the demo ended and what it printed.
struct DemoEnd {
  os::ExitStatus status{};
  std::string out{};
  std::string err{};
  [[nodiscard]] std::string last_line() const;
  /// Everything, for INFO.
  [[nodiscard]] std::string text() const;
};

/// One run in a folder of its own. Ends it with SIGKILL when it goes.
/// The test program becomes a subreaper: what the demo leaves running becomes its child.
class DemoRun {
 public:
  /// `lab demo ARGUMENTS --out FOLDER/out`
  explicit DemoRun(std::vector<std::string> arguments);
  ~DemoRun();
  DemoRun(const DemoRun&) = delete;
  DemoRun& operator=(const DemoRun&) = delete;

  [[nodiscard]] os::Process& process() noexcept { return process_; }
  [[nodiscard]] std::filesystem::path out() const { return folder_.path() / "out"; }
  /// The processes below it at this moment, by pid; the forkserver's too.
  [[nodiscard]] std::vector<int> descendants() const;
  /// Waits for its end. "still running" in err when it does not end within patience.
  [[nodiscard]] DemoEnd end();
  /// Waits until no process is left that came from it, and names those that stay.
  [[nodiscard]] static std::string survivors();

 private:
  os::TempFolder folder_;
  os::Process process_;
};

/// end() of a DemoRun with these arguments.
[[nodiscard]] DemoEnd demo(std::vector<std::string> arguments);

}  // namespace plab::test
