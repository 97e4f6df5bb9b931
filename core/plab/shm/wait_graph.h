#pragma once
// SPDX-License-Identifier: Apache-2.0
// One look at all waits of a job: who waits for whom, and which threads nobody but each other could
// free. For the watcher.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plab/shm/verdict.h"
#include "plab/shm/wait_table.h"

namespace plab::shm {

class WaitGraph {
 public:
  /// Reads the table and /proc.
  explicit WaitGraph(const WaitTableData& table);

  [[nodiscard]] const std::vector<wait_table::Seen>& waits() const noexcept { return waits_; }
  /// The largest set of waits that only threads of the set could end; indices, ascending.
  [[nodiscard]] const std::vector<std::size_t>& stuck() const noexcept { return stuck_; }
  /// What a wait says was true at or after this nanosecond.
  [[nodiscard]] std::int64_t right_since(std::size_t index) const noexcept;
  /// About the smallest knot in stuck(); nothing when that is empty.
  [[nodiscard]] std::optional<Verdict> verdict() const;
  [[nodiscard]] std::vector<Wait> describe_all() const;

 private:
  struct Process {
    bool alive = false;
    bool known = false;  ///< it has an entry in the table
    std::string name;
    std::set<std::int32_t> threads;  ///< without those of libraries
  };
  using Indices = std::vector<std::size_t>;

  Process& process(std::int32_t pid);
  void find_stuck();
  [[nodiscard]] bool may_end(std::size_t index) const;
  [[nodiscard]] bool is_blocked(std::int32_t pid) const;
  [[nodiscard]] bool in_set(std::int32_t pid, std::int32_t tid) const;
  [[nodiscard]] Indices edges(std::size_t index) const;
  [[nodiscard]] Indices reachable(std::size_t from) const;
  [[nodiscard]] Indices knot() const;
  [[nodiscard]] Wait describe(std::size_t index) const;
  [[nodiscard]] std::string object_of(std::size_t index) const;
  [[nodiscard]] std::string enders_of(std::size_t index) const;
  [[nodiscard]] bool is_bystander(std::size_t index) const;
  [[nodiscard]] std::string code_of(const Indices& knot) const;

  std::vector<wait_table::Seen> waits_;
  std::map<std::int32_t, Process> processes_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> by_thread_;
  std::set<std::size_t> set_;  // the suspects
  Indices stuck_;
  std::int64_t now_ns_ = 0;
};

}  // namespace plab::shm
