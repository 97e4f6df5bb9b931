#pragma once
// SPDX-License-Identifier: Apache-2.0
// How plab calls the kernel: one loop for EINTR, one form of error. Every wrapper in this folder
// names the call and its arguments and the line of the caller.

#include <cerrno>
#include <source_location>
#include <string>
#include <utility>

#include "plab/base/error.h"

namespace plab::os {

/// Calls `call()` again while it fails with EINTR; gives its last result, errno as it left it.
template <typename Call>
[[nodiscard]] auto retry(Call&& call) noexcept(noexcept(call())) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Throws SystemError "[os.PART] WHAT: ENAME (text)" for the present errno.
/// @throws SystemError always; its where() is the caller's line
[[noreturn]] void fail(const std::string& what,
                       std::source_location where = std::source_location::current());
/// The same for a given errno. EMFILE, ENFILE and ENOMEM become ResourceError: EMFILE names the
/// descriptor limit and how to raise it.
[[noreturn]] void fail_code(const std::string& what, int code,
                            std::source_location where = std::source_location::current());

}  // namespace plab::os
