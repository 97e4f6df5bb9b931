#pragma once
// SPDX-License-Identifier: Apache-2.0
// Names in /dev/shm that a supervised program has left, told apart from those of other programs
// that run on this machine at the same time.

#include <set>
#include <string>
#include <vector>

namespace plab::lab {

/// Remembers the names that there were when it was made.
class SegmentAudit {
 public:
  SegmentAudit();
  /// Names that are new, belong to this user and are held by no living process, each in words;
  /// removes them. To be asked when the program and all that it started are gone. Those of plab and
  /// of its labs ("plab-x-PID-...", the first number) say who made them: of them only those of
  /// `members`, the pids of the program's processes. What another program makes, closes and means
  /// to open again by its name cannot be told apart.
  [[nodiscard]] std::vector<std::string> remove_left(const std::set<int>& members) const;

 private:
  std::set<std::string> before_;
};

}  // namespace plab::lab
