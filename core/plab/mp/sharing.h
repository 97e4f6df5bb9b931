#pragma once
// SPDX-License-Identifier: Apache-2.0
// The two ways in which shared memory is handed on, by PyTorch's names.

#include <span>
#include <string_view>

#include "plab/shm/strategy.h"

namespace plab::mp {

/// "file_descriptor" and "file_system".
[[nodiscard]] inline std::span<const std::string_view> get_all_sharing_strategies() noexcept {
  return shm::sharing_strategies();
}
/// What a tensor that moves to shared memory now gets. A forked child starts with its parent's, a
/// spawned one with PLAB_SHARING_STRATEGY.
[[nodiscard]] inline std::string_view get_sharing_strategy() {
  return shm::name_of(shm::sharing_strategy());
}
/// Of this process, from the next move on; what is shared already keeps its kind.
/// @throws ContractError naming the valid ones; the current strategy stays as it is then
inline void set_sharing_strategy(std::string_view name) { shm::set_sharing_strategy(name); }

}  // namespace plab::mp
