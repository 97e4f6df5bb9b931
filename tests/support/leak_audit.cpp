// SPDX-License-Identifier: Apache-2.0
#include "support/leak_audit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "plab/os/file.h"
#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/shm/depot.h"
#include "plab/shm/segment.h"

namespace plab::test {

namespace {

// Made by a living process that is neither this one nor below it.
bool is_strangers(const std::string& segment, const std::set<int>& children) {
  shm::SegmentName name;
  if (!shm::SegmentName::parse(segment, name)) return false;
  const auto pid = static_cast<pid_t>(name.pid);
  if (pid == ::getpid() || children.contains(pid)) return false;
  const auto start = os::start_time(pid);
  return start && os::is_alive(pid, *start);
}

}  // namespace

Holdings Holdings::now() {
  // Made here, so that its descriptors are there before and after.
  (void)shm::Depot::descriptors();
  Holdings holdings;
  for (const int pid : os::child_pids()) holdings.children.insert(pid);
  for (auto& [fd, target] : os::open_descriptors()) holdings.descriptors.emplace(fd, target);
  for (auto& name : os::list_folder("/dev/shm", "plab_")) holdings.segments.insert(name);
  return holdings;
}

std::string LeakAudit::leaks() const {
  const Holdings after = Holdings::now();
  std::string text;
  for (const int pid : after.children) {
    if (!before_.children.contains(pid)) text += fmt::format("child {}\n", pid);
  }
  for (const auto& [fd, target] : after.descriptors) {
    const auto it = before_.descriptors.find(fd);
    if (it == before_.descriptors.end() || it->second != target) {
      text += fmt::format("descriptor {} ({})\n", fd, target);
    }
  }
  for (const auto& name : after.segments) {
    if (!before_.segments.contains(name) && !is_strangers(name, after.children)) {
      text += fmt::format("segment /dev/shm/{}\n", name);
    }
  }
  return text;
}

}  // namespace plab::test
