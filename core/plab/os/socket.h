#pragma once
// SPDX-License-Identifier: Apache-2.0
// Unix socket pairs, and descriptors that travel through them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

#include "plab/base/deadline.h"
#include "plab/os/unique_fd.h"

namespace plab::os {

/// Two connected stream sockets.
/// @fork the child has copies of both
struct SocketPair {
  UniqueFd first;
  UniqueFd second;
};

/// @throws ResourceError at the descriptor limit
[[nodiscard]] SocketPair create_socket_pair(
    std::source_location where = std::source_location::current());

/// What recv_message brought.
struct Received {
  std::size_t bytes = 0;  ///< 0: the other side is closed
  std::vector<UniqueFd> descriptors;
};

/// The most descriptors in one message (the kernel's SCM_MAX_FD).
inline constexpr std::size_t kMaxDescriptors = 253;

enum class Peek { kNo, kYes };
enum class SendResult { kSent, kTimedOut };

/// Sends all bytes; the descriptors go with the first of them. The receiver has copies of its own
/// even when the sender closes its own or exits at once.
/// @blocks while the peer's buffer is full, until `deadline`
/// @throws PeerDied when the other end is closed; ResourceError when too many descriptors are under
/// way for this user (ETOOMANYREFS); TimeoutError when the deadline passes with a part sent;
/// ContractError for no bytes or over kMaxDescriptors
[[nodiscard]] SendResult send_message(int socket, std::span<const std::byte> bytes,
                                      std::span<const int> descriptors, Deadline deadline,
                                      std::source_location where = std::source_location::current());

/// Receives up to the size of `into`, once, with at most `max_descriptors`. With Peek::kYes the
/// bytes stay in the socket, and descriptors are copies. Nothing: the deadline passed.
/// @throws ResourceError when the process is at its descriptor limit so that descriptors were lost,
/// naming the limit (with Peek::kYes they are still there); CorruptError when more descriptors came
/// than `max_descriptors`. Neither leaks one.
[[nodiscard]] std::optional<Received> recv_message(
    int socket, std::span<std::byte> into, std::size_t max_descriptors, Deadline deadline,
    Peek peek = Peek::kNo, std::source_location where = std::source_location::current());

/// Where the next Peek::kYes reads, in bytes from the head of the queue; it moves on with each
/// peek, and back with each consuming read. Peeking with an offset is for Deadline::passed() only:
/// poll does not know the offset. A property of the socket, shared by all processes that
/// have it. -1 turns it off.
/// @throws SystemError
void set_peek_offset(int socket, int offset,
                     std::source_location where = std::source_location::current());

/// Asks for a larger send buffer; the kernel gives at most net.core.wmem_max. Returns what holds.
std::size_t set_send_buffer(int socket, std::size_t bytes,
                            std::source_location where = std::source_location::current());

}  // namespace plab::os
