// SPDX-License-Identifier: Apache-2.0
#include "support/own_leftovers.h"

#include <fmt/format.h>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/proc.h"

namespace plab::lab {

namespace {

/// A file of the learner's; not a device, not memory of plab.
bool is_file(const std::string& target) {
  return target.starts_with("/") && !target.starts_with("/memfd:") &&
         !target.starts_with("/dev/") && !target.starts_with("/proc/");
}

/// "pipe:[4711]": "pipe".
std::string kind_of(const std::string& target) {
  return target.starts_with("anon_inode:") ? target : target.substr(0, target.find(":["));
}

bool is_zombie(int pid) {
  try {
    const std::string stat = os::read_file(fmt::format("/proc/{}/stat", pid));
    const auto after_name = stat.rfind(')');
    return after_name != std::string::npos && stat[after_name + 2] == 'Z';
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

OwnLeftovers::OwnLeftovers() {
  for (const auto& open : os::open_descriptors()) before_.emplace(open.fd, open.target);
}

OwnLeftovers::Counts OwnLeftovers::count() {
  Counts counts;
  for (const auto& open : os::open_descriptors()) {
    if (!open.target.starts_with("/")) ++counts[kind_of(open.target)];
  }
  return counts;
}

void OwnLeftovers::note_round() {
  if (++rounds_ == 1) after_first_ = count();
}

std::vector<std::string> OwnLeftovers::found() const {
  std::vector<std::string> all;
  for (const int pid : os::child_pids()) {
    if (!is_zombie(pid)) continue;
    all.push_back(fmt::format("process {} has ended, and nobody has waited for it", pid));
  }
  for (const auto& open : os::open_descriptors()) {
    if (!is_file(open.target) || before_.contains({open.fd, open.target})) continue;
    all.push_back(fmt::format("descriptor {} is still open: {}", open.fd, open.target));
  }
  if (rounds_ < 2) return all;
  for (const auto& [kind, number] : count()) {
    const auto first = after_first_.find(kind);
    const int more = number - (first == after_first_.end() ? 0 : first->second);
    if (more < rounds_ - 1) continue;
    all.push_back(fmt::format("{} descriptors more ({}) after {} rounds than after the first", more,
                              kind, rounds_));
  }
  return all;
}

}  // namespace plab::lab
