#pragma once
// SPDX-License-Identifier: Apache-2.0
// Pipes, and reading and writing any descriptor until a deadline.

#include <cstddef>
#include <optional>
#include <source_location>
#include <span>

#include "plab/base/deadline.h"
#include "plab/os/unique_fd.h"

namespace plab::os {

/// The two ends of a pipe. End of file comes when every copy of `write` is closed.
/// @fork the child has copies of both ends: close the one that it does not use, or the other side
/// never sees the end
struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

/// @throws ResourceError at the descriptor limit
[[nodiscard]] Pipe create_pipe(std::source_location where = std::source_location::current());

enum class Ready { kReadable, kWritable };
/// Waits until the descriptor can be read (or is at its end) or written. False: deadline passed.
/// @blocks until ready or `deadline`
/// @throws SystemError
[[nodiscard]] bool wait_ready(int fd, Ready what, Deadline deadline,
                              std::source_location where = std::source_location::current());

/// Reads up to the size of `into`, once. 0: end of file; nothing: the deadline passed first.
/// @blocks until bytes, the end, or `deadline`
[[nodiscard]] std::optional<std::size_t> read_some(
    int fd, std::span<std::byte> into, Deadline deadline,
    std::source_location where = std::source_location::current());
/// Reads until `into` is full or the file ends; returns how much there is. A short count with
/// the deadline still open is the end of the file.
/// @throws TimeoutError when the deadline passes first; the bytes read by then are lost
[[nodiscard]] std::size_t read_full(int fd, std::span<std::byte> into, Deadline deadline,
                                    std::source_location where = std::source_location::current());
/// Writes all. SIGPIPE never arises.
/// @throws PeerDied when nobody can read any more, TimeoutError when the deadline passes with a
/// part written
void write_full(int fd, std::span<const std::byte> bytes, Deadline deadline,
                std::source_location where = std::source_location::current());

/// @throws SystemError
void set_nonblocking(int fd, std::source_location where = std::source_location::current());

}  // namespace plab::os
