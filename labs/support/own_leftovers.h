#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the process of a check itself still holds when all cases have passed, and should not. The
// lab tool cannot see it afterwards: the end of the process closes and reaps everything.

#include <map>
#include <set>
#include <string>
#include <vector>

namespace plab::lab {

/// Made before the first round of the cases. plab keeps descriptors of its own once they are used
/// (memory, the socket of a queue); they neither are files nor get more from round to round.
class OwnLeftovers {
 public:
  OwnLeftovers();
  /// A round of all cases is over.
  void note_round();
  /// Each thing in words: children that have ended and were not waited for; open files; pipes,
  /// sockets and the like that got more with every round after the first.
  [[nodiscard]] std::vector<std::string> found() const;

 private:
  using Counts = std::map<std::string, int>;  // by kind: "pipe", "socket", "anon_inode:[pidfd]"
  [[nodiscard]] static Counts count();

  std::set<std::pair<int, std::string>> before_;
  int rounds_ = 0;
  Counts after_first_;
};

}  // namespace plab::lab
