#pragma once
// SPDX-License-Identifier: Apache-2.0
// watch_program under a watcher, for the tests of verdicts.

#include <optional>
#include <string>
#include <vector>

#include "plab/os/process.h"
#include "plab/os/temp.h"
#include "plab/shm/watcher.h"

namespace plab::test {

/// The program under a watcher of its own. Ends it, with all of its process group, when it goes.
class Watched {
 public:
  explicit Watched(const std::vector<std::string>& arguments);
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched();
  [[nodiscard]] os::Process& program() { return program_; }
  [[nodiscard]] shm::Watcher& watcher() { return watcher_; }

  /// Looks until there is a verdict, or the program has ended.
  [[nodiscard]] std::optional<shm::Verdict> verdict();

 private:
  os::TempFolder folder_;
  shm::Watcher watcher_;
  os::Process program_;
};

/// Ends what lost its parent, so that the next test finds nothing of it.
void reap();

/// Runs healthy programs with the seeds from `from` to before `to`, eight at a time. Empty, or the
/// first verdict and failure that there should not have been.
[[nodiscard]] std::string run_healthy(int from, int to);

}  // namespace plab::test
