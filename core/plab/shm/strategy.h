#pragma once
// SPDX-License-Identifier: Apache-2.0
// The two ways in which shared memory is handed on (facts: SHM-01 to SHM-04 of PyTorch's
// torch.multiprocessing).

#include <span>
#include <string_view>

namespace plab::shm {

enum class Strategy {
  kFileDescriptor,  ///< arenas on memfd: nothing has a name, nothing is left behind
  kFileSystem,      ///< each block a named segment in /dev/shm: programs of others can attach
};

/// "file_descriptor" and "file_system".
[[nodiscard]] std::span<const std::string_view> sharing_strategies() noexcept;
/// What Block::allocate_shared does now; PLAB_SHARING_STRATEGY at first. Of this process only;
/// blocks keep the kind that they were made with.
/// @fork the child starts with the parent's; a spawned process starts with the environment's
[[nodiscard]] Strategy sharing_strategy();
[[nodiscard]] std::string_view name_of(Strategy strategy) noexcept;
/// @throws ContractError naming the valid ones; the current strategy stays as it is then
void set_sharing_strategy(std::string_view name);
void set_sharing_strategy(Strategy strategy);

}  // namespace plab::shm
