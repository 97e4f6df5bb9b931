#pragma once
// SPDX-License-Identifier: Apache-2.0
// The life of a child process from its first line to its exit. For the files of mp.

#include <functional>
#include <optional>
#include <span>

#include "plab/mp/child_error.h"
#include "plab/mp/starter.h"
#include "plab/os/process.h"
#include "plab/os/unique_fd.h"

namespace plab::mp {

/// Runs `body` as the child `info` and exits: 0, or 1 after an exception, which is written to
/// `report`. Dies when `parent` does.
[[noreturn]] void run_child(const ChildInfo& info, const Parent& parent, int report,
                            const std::function<void()>& body) noexcept;

/// In a process made by fork: forgets what belongs to its parent.
void after_fork_in_child() noexcept;

/// What a child wrote, if it did. Never throws: a damaged report says so in its message.
[[nodiscard]] std::optional<ChildError> read_report(int report) noexcept;

}  // namespace plab::mp
