#pragma once
// SPDX-License-Identifier: Apache-2.0
// Where an exception was thrown. The C++ runtime's __cxa_throw is wrapped; in processes that plab
// started it keeps the addresses of the calls that are active. In all others a throw costs one
// relaxed load more.

#include <string>
#include <vector>

namespace plab::mp {

/// Keeps a stack for every throw of this process from now on (about 5 us each).
void keep_throw_stacks() noexcept;

/// The stack of an exception object, if this thread threw it and few others since.
/// @param object the address that std::exception_ptr holds
[[nodiscard]] std::vector<std::string> throw_stack(const void* object);

}  // namespace plab::mp
