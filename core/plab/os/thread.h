#pragma once
// SPDX-License-Identifier: Apache-2.0
// The numbers of the calling process and thread without a system call each time.

#include <sys/types.h>

namespace plab::os {

namespace detail {
struct ThreadNumbers {
  pid_t pid = 0;
  pid_t tid = 0;  // 0: not asked for yet
};
extern thread_local constinit ThreadNumbers t_numbers;
void learn_numbers() noexcept;
}  // namespace detail

/// pid and tid of the caller, remembered per thread. Under 1 ns.
/// @fork right in a forked child: a handler of pthread_atfork forgets what the parent remembered
/// (not after a raw clone(2), which runs no handlers)
[[nodiscard]] inline pid_t current_pid() noexcept {
  if (detail::t_numbers.tid == 0) detail::learn_numbers();
  return detail::t_numbers.pid;
}
[[nodiscard]] inline pid_t current_tid() noexcept {
  if (detail::t_numbers.tid == 0) detail::learn_numbers();
  return detail::t_numbers.tid;
}

}  // namespace plab::os
