#pragma once
// SPDX-License-Identifier: Apache-2.0
// The running children of this process, so that daemons are ended at its exit. For the files of mp.

#include <chrono>
#include <memory>

#include "plab/mp/starter.h"

namespace plab::mp {

/// How long a child may take to end after SIGTERM.
inline constexpr std::chrono::seconds kGentle{2};

/// Ends a child: SIGTERM, and SIGKILL when it has not gone by the deadline. Returns when it is
/// reaped; trouble is logged.
void end_child(Child& child, Deadline gently) noexcept;

/// A daemon to be ended at exit, until it is removed.
void add_daemon(const std::shared_ptr<Child>& child);
void remove_daemon(const std::shared_ptr<Child>& child) noexcept;
/// In a forked child: these are its parent's.
void forget_children() noexcept;

}  // namespace plab::mp
