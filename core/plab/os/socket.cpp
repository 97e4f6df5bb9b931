// SPDX-License-Identifier: Apache-2.0
#include "plab/os/socket.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

#include "plab/os/pipe.h"
#include "plab/os/proc.h"
#include "plab/os/syscall.h"

namespace plab::os {

namespace {

struct alignas(cmsghdr) Control {
  std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes;
};

void attach(msghdr& message, Control& control, std::span<const int> descriptors) {
  if (descriptors.empty()) return;
  control.bytes.fill(0);
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
}

// Takes all descriptors of a message into owners first, so that no later error leaks one.
std::vector<UniqueFd> detach(msghdr& message) {
  std::vector<UniqueFd> owners;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::array<int, kMaxDescriptors> raw{};
    std::memcpy(raw.data(), CMSG_DATA(head), count * sizeof(int));
    owners.reserve(owners.size() + count);
    for (std::size_t i = 0; i < count; ++i) owners.emplace_back(raw[i]);
  }
  return owners;
}

[[noreturn]] void fail_send(int socket, std::size_t bytes, std::size_t descriptors,
                            std::source_location where) {
  const int code = errno;
  if (code == EPIPE || code == ECONNRESET) {
    throw PeerDied(fmt::format("[os.socket] descriptor {}: the other end is closed ({})", socket,
                               errno_text(code)),
                   where);
  }
  if (code == ETOOMANYREFS) {
    throw ResourceError(
        fmt::format("[os.socket] too many descriptors are under way in sockets for this user; the "
                    "kernel allows as many as the descriptor limit, {}; receive some or raise the "
                    "limit (ulimit -n)",
                    descriptor_limit().soft),
        where);
  }
  fail_code(fmt::format("[os.socket] sendmsg(fd={}, bytes={}, descriptors={})", socket, bytes,
                        descriptors),
            code, where);
}

[[noreturn]] void fail_truncated(int socket, std::size_t got, std::source_location where) {
  throw ResourceError(
      fmt::format("[os.socket] descriptor {}: the message brought more descriptors than this "
                  "process may open ({} arrived; the limit is {}); close some or raise the limit "
                  "(ulimit -n)",
                  socket, got, descriptor_limit().soft),
      where);
}

}  // namespace

SocketPair create_socket_pair(std::source_location where) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail("[os.socket] socketpair", where);
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

SendResult send_message(int socket, std::span<const std::byte> bytes,
                        std::span<const int> descriptors, Deadline deadline,
                        std::source_location where) {
  if (bytes.empty() || descriptors.size() > kMaxDescriptors) {
    throw ContractError(fmt::format("[os.socket] a message has at least 1 byte and at most {} "
                                    "descriptors; this has {} and {}",
                                    kMaxDescriptors, bytes.size(), descriptors.size()),
                        where);
  }
  std::size_t done = 0;
  Control control;
  while (done < bytes.size()) {
    // sendmsg takes a pointer to non-const but does not write through it
    iovec part{const_cast<std::byte*>(bytes.data()) + done, bytes.size() - done};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (done == 0) attach(message, control, descriptors);
    const ssize_t n =
        retry([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT); });
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EAGAIN) {
      fail_send(socket, bytes.size(), descriptors.size(), where);
    } else if (!wait_ready(socket, Ready::kWritable, deadline, where)) {
      if (done == 0) return SendResult::kTimedOut;
      throw TimeoutError(fmt::format("[os.socket] descriptor {}: sent {} of {} bytes before the "
                                     "deadline",
                                     socket, done, bytes.size()),
                         where);
    }
  }
  return SendResult::kSent;
}

std::optional<Received> recv_message(int socket, std::span<std::byte> into,
                                     std::size_t max_descriptors, Deadline deadline, Peek peek,
                                     std::source_location where) {
  Control control;
  for (;;) {
    iovec part{into.data(), into.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    // Room for all that can come even when none is wanted: MSG_CTRUNC then has one meaning only
    message.msg_controllen = control.bytes.size();
    const int flags = MSG_CMSG_CLOEXEC | MSG_DONTWAIT | (peek == Peek::kYes ? MSG_PEEK : 0);
    const ssize_t n = retry([&] { return ::recvmsg(socket, &message, flags); });
    if (n >= 0) {
      Received received{static_cast<std::size_t>(n), detach(message)};
      const std::size_t got = received.descriptors.size();
      if ((message.msg_flags & MSG_CTRUNC) != 0) fail_truncated(socket, got, where);
      if (got > max_descriptors) {
        throw CorruptError(fmt::format("[os.socket] descriptor {}: a message brought {} "
                                       "descriptors, at most {} are expected",
                                       socket, got, max_descriptors),
                           where);
      }
      return received;
    }
    if (errno == ECONNRESET) return Received{};
    if (errno != EAGAIN) {
      fail(fmt::format("[os.socket] recvmsg(fd={}, bytes={})", socket, into.size()), where);
    }
    // poll knows nothing of a peek offset: it may call readable what this call finds empty
    if (deadline.ns() == 0 || !wait_ready(socket, Ready::kReadable, deadline, where)) return {};
  }
}

void set_peek_offset(int socket, int offset, std::source_location where) {
  if (::setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof(offset)) != 0) {
    fail(fmt::format("[os.socket] setsockopt(fd={}, SO_PEEK_OFF, {})", socket, offset), where);
  }
}

std::size_t set_send_buffer(int socket, std::size_t bytes, std::source_location where) {
  int value = static_cast<int>(std::min<std::size_t>(bytes, 1U << 30U));
  socklen_t length = sizeof(value);
  if (::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &value, length) != 0 ||
      ::getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &value, &length) != 0) {
    fail(fmt::format("[os.socket] setsockopt(fd={}, SO_SNDBUF, {})", socket, bytes), where);
  }
  return static_cast<std::size_t>(value);
}

}  // namespace plab::os
