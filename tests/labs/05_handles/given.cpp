// SPDX-License-Identifier: Apache-2.0
// What lab 05 gives its learner: names, and the table of holders in a segment's header.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "05_handles/lab.hpp"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/process.h"

namespace lab05 {

using namespace plab;

std::string path_of(const std::string& name) { return "/dev/shm/" + name; }
std::string prefix() { return fmt::format("plab-lab05-{}-", ::getpgrp()); }
std::vector<std::string> all_names() { return os::list_folder("/dev/shm", prefix()); }

void enter(Header& header) {
  const std::uint64_t self = os::self_identity().packed();
  for (auto& holder : header.holders) {
    std::uint64_t nobody = 0;
    if (holder.compare_exchange_strong(nobody, self)) return;
  }
  throw ResourceError(fmt::format("a segment can have {} holders, no more", kMostHolders));
}

bool leave(Header& header) {
  const std::uint64_t self = os::self_identity().packed();
  for (auto& holder : header.holders) {
    std::uint64_t own = self;
    if (holder.compare_exchange_strong(own, 0)) break;
  }
  const auto is_free = [](const auto& holder) { return holder.load() == 0; };
  return std::ranges::all_of(header.holders, is_free) && header.under_way == 0;
}

bool is_held(const Header& header) {
  return std::ranges::any_of(header.holders, [](const auto& holder) {
    return holder != 0 && os::is_alive(os::ProcessIdentity::from_packed(holder));
  });
}

}  // namespace lab05
