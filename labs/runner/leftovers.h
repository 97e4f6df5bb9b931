#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a supervised program has left behind besides processes: names in /dev/shm (memory and POSIX
// semaphores), System V objects, sockets in the file system; told apart from what other programs
// make at the same time.

#include <compare>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "segments.h"

namespace plab::lab {

/// Of /proc/sysvipc.
struct SystemVObject {
  enum class Kind { kShared, kSemaphore, kQueue };
  Kind kind = Kind::kShared;
  int id = 0;
  auto operator<=>(const SystemVObject&) const = default;
};

/// Remembers what there was when it was made.
class Leftovers {
 public:
  /// @param scratch the program's folder for temporary files, where it is not this process's
  explicit Leftovers(std::filesystem::path scratch = {});
  /// What is new, belongs to this user and is used by no living process, each in words; removes it.
  /// To be asked when the program and all that it started are gone.
  /// @param members the pids of the program's processes. System V objects of others are left alone.
  /// Those that nobody has used yet name no maker: they are reported, and kept, since they may be
  /// another program's
  [[nodiscard]] std::vector<std::string> remove_left(const std::set<int>& members) const;

 private:
  SegmentAudit segments_;
  std::set<SystemVObject> objects_;
  std::filesystem::path scratch_;
  // in the working folder and those for temporary files
  std::set<std::filesystem::path> sockets_;
};

}  // namespace plab::lab
