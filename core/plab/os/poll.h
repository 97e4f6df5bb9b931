#pragma once
// SPDX-License-Identifier: Apache-2.0
// Waiting for the first of several descriptors.

#include <cstddef>
#include <optional>
#include <source_location>
#include <span>

#include "plab/base/deadline.h"

namespace plab::os {

/// The index of a descriptor that can be read (or is at its end, or broken): the first in the list
/// when there are several. Nothing: the deadline passed. Negative numbers are never ready; with
/// none but those it waits for the deadline.
/// @blocks until one is ready or `deadline`
/// @throws SystemError for a number that is not open
[[nodiscard]] std::optional<std::size_t> wait_any(
    std::span<const int> descriptors, Deadline deadline,
    std::source_location where = std::source_location::current());

}  // namespace plab::os
