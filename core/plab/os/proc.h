#pragma once
// SPDX-License-Identifier: Apache-2.0
// What this process has and what the machine gives it: descriptors, cores, memory, /dev/shm.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plab/os/unique_fd.h"

namespace plab::os {

struct OpenDescriptor {
  int fd = -1;
  std::string target;  ///< what /proc shows: a path, "pipe:[123]", "socket:[123]", "/memfd:x"
};
/// The open descriptors of this process, by number; without the one that reading the list takes.
/// @throws SystemError when /proc is not there
[[nodiscard]] std::vector<OpenDescriptor> open_descriptors();

struct DescriptorLimit {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};
[[nodiscard]] DescriptorLimit descriptor_limit() noexcept;

/// The cores that this process may run on (its affinity), at least 1.
[[nodiscard]] int usable_cores() noexcept;
/// The cores of the machine that are switched on, at least 1.
[[nodiscard]] int online_cores() noexcept;

struct Memory {
  std::uint64_t total = 0;      ///< of the machine, in bytes
  std::uint64_t available = 0;  ///< MemAvailable of /proc/meminfo: what can be had without swapping
  /// What the tightest control group above this process still allows; nothing without a limit.
  std::optional<std::uint64_t> group_left;
  std::optional<std::uint64_t> group_limit;
  /// The smaller of available and group_left.
  [[nodiscard]] std::uint64_t usable() const noexcept;
};
/// @throws SystemError when /proc/meminfo cannot be read
[[nodiscard]] Memory memory();

struct FolderSpace {
  std::uint64_t size = 0;
  std::uint64_t free = 0;
};
/// Size and free bytes of /dev/shm; nothing when it is not mounted.
[[nodiscard]] std::optional<FolderSpace> dev_shm_space() noexcept;

/// The pids of the children of this process, zombies included.
[[nodiscard]] std::vector<int> child_pids();

}  // namespace plab::os
