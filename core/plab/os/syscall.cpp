// SPDX-License-Identifier: Apache-2.0
#include "plab/os/syscall.h"

#include <sys/resource.h>

namespace plab::os {

void fail_code(const std::string& what, int code, std::source_location where) {
  if (code == EMFILE) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    throw ResourceError(
        fmt::format("{}: all {} descriptors of this process are in use; close some or raise the "
                    "limit (ulimit -n)",
                    what, limit.rlim_cur),
        where);
  }
  if (code == ENFILE || code == ENOMEM) {
    throw ResourceError(fmt::format("{}: {}", what, errno_text(code)), where);
  }
  throw SystemError(what, code, where);
}

void fail(const std::string& what, std::source_location where) { fail_code(what, errno, where); }

}  // namespace plab::os
