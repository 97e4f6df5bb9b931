#pragma once
// SPDX-License-Identifier: Apache-2.0
// Memory with a descriptor but without a name: it goes with its last descriptor and mapping, so a
// killed process leaves nothing behind.

#include <cstdint>
#include <source_location>
#include <string>

#include "plab/base/types.h"
#include "plab/os/unique_fd.h"

namespace plab::os {

/// A new memfd of `size` zero bytes. No page is taken until it is written. `name` shows in
/// /proc/PID/fd only.
/// @throws ResourceError at the descriptor limit, or when `size` is over the file size limit
/// (ulimit -f)
/// @fork the child has the same memory through its own descriptor
[[nodiscard]] UniqueFd create_memfd(const std::string& name, Bytes size,
                                    std::source_location where = std::source_location::current());

/// What a file or memfd is, and what it really takes.
struct FileUse {
  std::uint64_t size = 0;       ///< its length
  std::uint64_t allocated = 0;  ///< bytes of pages that it holds
};
/// @throws SystemError
[[nodiscard]] FileUse file_use(int fd,
                               std::source_location where = std::source_location::current());

/// Makes a file `size` bytes long with all its pages reserved. Returns 0 or the errno (ENOSPC ...).
[[nodiscard]] int reserve_file(int fd, std::uint64_t size) noexcept;

/// The largest file that this process may make (RLIMIT_FSIZE); UINT64_MAX without limit.
[[nodiscard]] std::uint64_t file_size_limit() noexcept;

}  // namespace plab::os
