#pragma once
// SPDX-License-Identifier: Apache-2.0
// The numbers of the calling process and thread without a system call each time.

#include <sys/types.h>

namespace plab::os {

/// pid and tid of the caller, remembered per thread. About 1 ns.
/// @fork right in a forked child: a handler of pthread_atfork forgets what the parent remembered
/// (not after a raw clone(2), which runs no handlers)
[[nodiscard]] pid_t current_pid() noexcept;
[[nodiscard]] pid_t current_tid() noexcept;

}  // namespace plab::os
