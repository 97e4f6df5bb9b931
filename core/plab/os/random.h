#pragma once
// SPDX-License-Identifier: Apache-2.0
// Random numbers of the kernel, for names and identifiers.

#include <cstdint>

namespace plab::os {

/// A random number from getrandom(2), different in parent and forked child.
/// @throws SystemError
[[nodiscard]] std::uint64_t random_u64();

}  // namespace plab::os
