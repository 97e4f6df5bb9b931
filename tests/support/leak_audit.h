#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a test may not leave behind: children, descriptors, names in /dev/shm. Free of Catch2, so
// that children and labs can use it too.
//
//   const LeakAudit audit;
//   ... the test ...
//   CHECK(audit.leaks() == "");

#include <map>
#include <set>
#include <string>

namespace plab::test {

/// A look at what this process has.
struct Holdings {
  std::set<int> children;                  ///< pids, zombies included
  std::map<int, std::string> descriptors;  ///< number and target
  std::set<std::string> segments;          ///< "plab_..." in /dev/shm, of any process
  [[nodiscard]] static Holdings now();
};

/// Remembers what there was when it was made.
class LeakAudit {
 public:
  LeakAudit() : before_(Holdings::now()) {}
  /// What is there now and was not then, one item a line with its kind; empty when there is
  /// nothing. A descriptor whose number was in use counts when its target is another one. The three
  /// that shared memory of a process takes for good (the depot) are not counted, nor segments whose
  /// maker is another process that lives and is no descendant of this one (another test).
  [[nodiscard]] std::string leaks() const;

 private:
  Holdings before_;
};

}  // namespace plab::test
