#pragma once
// SPDX-License-Identifier: Apache-2.0
// Finds deadlocks of a job: reads the table of waits and proves that a set of threads can only be
// freed by each other. No time-out is involved, and no verdict is given on a program that can still
// move (Note: how a deadlock is proved, docs/notes/deadlocks.md).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plab/os/mapping.h"
#include "plab/shm/verdict.h"
#include "plab/shm/wait_table.h"

namespace plab::shm {

/// Watches the processes that are started with its environment(), and their children. Not part of
/// the job itself: it may be in any process that is no member of it.
/// @threads from one thread at a time
/// @fork for its process alone
class Watcher {
 public:
  /// Makes the table in `folder`, which is made too when it is not there.
  /// @throws SystemError when it cannot be made, or one is there
  explicit Watcher(const std::filesystem::path& folder);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  /// Removes the table; processes that still have it go on writing into their mapping.
  ~Watcher();

  /// Name and value of the variable by which a process finds the table.
  [[nodiscard]] std::pair<std::string, std::string> environment() const;
  /// Looks once; takes about 100 us and never blocks. A deadlock is proved by two looks, at least
  /// 100 ms apart: call it every 20 ms or so.
  /// @throws SystemError when /proc is not there
  [[nodiscard]] std::optional<Verdict> look();
  /// Everything that waits now, for the account of a program that is stuck without a proof.
  [[nodiscard]] std::vector<Wait> waits() const;
  /// A number that is another one after a wait of any thread has begun or ended.
  [[nodiscard]] std::uint64_t moves() const noexcept;
  /// The processes that have entered themselves, dead ones too, as long as their places last (256).
  [[nodiscard]] std::vector<os::ProcessIdentity> processes() const;

 private:
  /// A thread in a wait, by the number of the wait.
  struct Member {
    std::int32_t pid = 0;
    std::int32_t tid = 0;
    std::uint64_t number = 0;
    friend bool operator==(const Member&, const Member&) = default;
  };

  std::filesystem::path file_;
  os::Mapping mapping_;
  const WaitTableData* table_;
  std::vector<Member> suspects_;  // of the look before
  std::int64_t suspected_ns_ = 0;
};

}  // namespace plab::shm
