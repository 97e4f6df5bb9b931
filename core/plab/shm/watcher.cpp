// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/watcher.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/shm/wait_graph.h"

namespace plab::shm {

namespace {

constexpr const char* kFile = "waits";

}  // namespace

Watcher::Watcher(const std::filesystem::path& folder) : file_(folder / kFile) {
  std::filesystem::create_directories(folder);
  mapping_ = wait_table::create(file_);
  table_ = std::launder(reinterpret_cast<const WaitTableData*>(mapping_.data()));
}

Watcher::~Watcher() {
  std::error_code gone;
  std::filesystem::remove(file_, gone);
}

std::pair<std::string, std::string> Watcher::environment() const {
  return {"PLAB_WATCH_TABLE", std::filesystem::absolute(file_).string()};
}

std::optional<Verdict> Watcher::look() {
  const WaitGraph graph(*table_);
  std::vector<Member> suspects;
  std::int64_t oldest_look = INT64_MAX;
  for (const std::size_t index : graph.stuck()) {
    const wait_table::Seen& seen = graph.waits()[index];
    suspects.push_back({seen.record.pid, seen.record.tid, seen.number});
    oldest_look = std::min(oldest_look, graph.right_since(index));
  }
  const bool same = suspects == suspects_;
  if (!same) {
    suspects_ = std::move(suspects);
    suspected_ns_ = monotonic_ns();
    return std::nullopt;
  }
  // All of them were blocked at suspected_ns_ and have not moved since; each has looked again since
  // then. So nothing that they wait for has come or will come.
  if (suspects_.empty() || oldest_look <= suspected_ns_) return std::nullopt;
  return graph.verdict();
}

std::vector<Wait> Watcher::waits() const { return WaitGraph(*table_).describe_all(); }

std::uint64_t Watcher::moves() const noexcept {
  std::uint64_t sum = 0;
  for (const WaitSlot& slot : table_->slots) sum += slot.waits.load(std::memory_order_relaxed);
  return sum;
}

std::vector<os::ProcessIdentity> Watcher::processes() const {
  std::vector<os::ProcessIdentity> all;
  for (const auto& entry : table_->processes) {
    const std::uint64_t who = entry.who.load();
    if (who != 0) all.push_back(os::ProcessIdentity::from_packed(who));
  }
  return all;
}

}  // namespace plab::shm
