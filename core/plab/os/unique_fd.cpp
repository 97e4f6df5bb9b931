// SPDX-License-Identifier: Apache-2.0
#include "plab/os/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include "plab/base/log.h"
#include "plab/os/syscall.h"

namespace plab::os {

void UniqueFd::reset() noexcept {
  const int fd = std::exchange(fd_, -1);
  if (fd < 0) return;
  // No retry on EINTR: Linux has released the number already, another thread may have it by now.
  const int saved = errno;
  if (::close(fd) != 0 && errno != EINTR) {
    log::warning("[os.unique_fd] close({}): {}", fd, errno_text(errno));
  }
  errno = saved;
}

UniqueFd UniqueFd::duplicate(int at_least, std::source_location where) const {
  UniqueFd copy(::fcntl(fd_, F_DUPFD_CLOEXEC, at_least));
  if (!copy) {
    // fcntl says EINVAL when `at_least` is over the limit: for the caller it is the same trouble
    const int code = errno == EINVAL && at_least > 0 ? EMFILE : errno;
    fail_code(fmt::format("[os.unique_fd] duplicate descriptor {} at {}", fd_, at_least), code,
              where);
  }
  return copy;
}

void set_inherit(int fd, Inherit inherit, std::source_location where) {
  const int flags = inherit == Inherit::kYes ? 0 : FD_CLOEXEC;
  if (::fcntl(fd, F_SETFD, flags) != 0) {
    fail(fmt::format("[os.unique_fd] fcntl(fd={}, F_SETFD, {})", fd, flags), where);
  }
}

bool is_open(int fd) noexcept { return ::fcntl(fd, F_GETFD) != -1; }

}  // namespace plab::os
