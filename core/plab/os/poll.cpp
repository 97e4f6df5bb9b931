// SPDX-License-Identifier: Apache-2.0
#include "plab/os/poll.h"

#include <poll.h>

#include <vector>

#include "plab/os/syscall.h"

namespace plab::os {

std::optional<std::size_t> wait_any(std::span<const int> descriptors, Deadline deadline,
                                    std::source_location where) {
  std::vector<pollfd> entries;
  entries.reserve(descriptors.size());
  for (const int fd : descriptors) entries.push_back({fd, POLLIN, 0});
  for (;;) {
    const int rc = ::poll(entries.data(), entries.size(), deadline.poll_timeout_ms());
    if (rc < 0 && errno != EINTR) {
      fail(fmt::format("[os.poll] poll of {} descriptors", entries.size()), where);
    }
    for (std::size_t i = 0; rc > 0 && i < entries.size(); ++i) {
      if ((entries[i].revents & POLLNVAL) != 0) {
        fail_code(fmt::format("[os.poll] poll(fd={})", entries[i].fd), EBADF, where);
      }
      if (entries[i].revents != 0) return i;
    }
    if (deadline.expired()) return std::nullopt;
  }
}

}  // namespace plab::os
