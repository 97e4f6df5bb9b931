// SPDX-License-Identifier: Apache-2.0
#include "plab/os/pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include <csignal>

#include "plab/os/syscall.h"

namespace plab::os {

namespace {

// write(2) on a closed pipe raises SIGPIPE, and the flag that prevents it exists for sockets only.
// So it is blocked for this thread and the one that arose is taken away, unless it was pending
// before.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set_, &old_);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    const std::timespec now{};
    const int saved = errno;
    if (raised && !was_pending_) (void)retry([&] { return sigtimedwait(&set_, nullptr, &now); });
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
    errno = saved;
  }
  bool raised = false;

 private:
  sigset_t set_;
  sigset_t old_;
  bool was_pending_ = false;
};

ssize_t write_once(int fd, std::span<const std::byte> bytes) {
  const ssize_t sent =
      retry([&] { return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT); });
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  NoSigpipe guard;
  const ssize_t written = retry([&] { return ::write(fd, bytes.data(), bytes.size()); });
  guard.raised = written < 0 && errno == EPIPE;
  return written;
}

}  // namespace

Pipe create_pipe(std::source_location where) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("[os.pipe] pipe2", where);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool wait_ready(int fd, Ready what, Deadline deadline, std::source_location where) {
  const short events = what == Ready::kReadable ? POLLIN : POLLOUT;
  for (;;) {
    pollfd entry{fd, events, 0};
    const int rc = ::poll(&entry, 1, deadline.poll_timeout_ms());
    if (rc < 0 && errno != EINTR) fail(fmt::format("[os.pipe] poll(fd={})", fd), where);
    if (rc > 0 && (entry.revents & POLLNVAL) != 0) {
      fail_code(fmt::format("[os.pipe] poll(fd={})", fd), EBADF, where);
    }
    if (rc > 0) return true;  // error and hang-up too: the read or write that follows tells
    if (rc == 0 && (deadline.ns() == 0 || deadline.expired())) return false;
  }
}

std::optional<std::size_t> read_some(int fd, std::span<std::byte> into, Deadline deadline,
                                     std::source_location where) {
  for (;;) {
    if (!deadline.is_never() && !wait_ready(fd, Ready::kReadable, deadline, where)) return {};
    const ssize_t n = retry([&] { return ::read(fd, into.data(), into.size()); });
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EAGAIN) fail(fmt::format("[os.pipe] read(fd={}, {})", fd, into.size()), where);
    if (!wait_ready(fd, Ready::kReadable, deadline, where)) return {};
  }
}

std::size_t read_full(int fd, std::span<std::byte> into, Deadline deadline,
                      std::source_location where) {
  std::size_t done = 0;
  while (done < into.size()) {
    const auto n = read_some(fd, into.subspan(done), deadline, where);
    if (!n) {
      throw TimeoutError(fmt::format("[os.pipe] read {} of {} bytes from descriptor {} before the "
                                     "deadline",
                                     done, into.size(), fd),
                         where);
    }
    if (*n == 0) break;
    done += *n;
  }
  return done;
}

void write_full(int fd, std::span<const std::byte> bytes, Deadline deadline,
                std::source_location where) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    if (!wait_ready(fd, Ready::kWritable, deadline, where)) {
      throw TimeoutError(fmt::format("[os.pipe] wrote {} of {} bytes to descriptor {} before the "
                                     "deadline",
                                     done, bytes.size(), fd),
                         where);
    }
    // At most PIPE_BUF: what poll calls writable takes that much without blocking.
    const std::size_t part = std::min<std::size_t>(bytes.size() - done, 4096);
    const ssize_t n =
        write_once(fd, bytes.subspan(done, deadline.is_never() ? bytes.size() - done : part));
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno == EPIPE || errno == ECONNRESET) {
      throw PeerDied(
          fmt::format("[os.pipe] descriptor {}: nobody reads any more ({})", fd, errno_text(errno)),
          where);
    } else if (errno != EAGAIN) {
      fail(fmt::format("[os.pipe] write(fd={}, {})", fd, bytes.size() - done), where);
    }
  }
}

void set_nonblocking(int fd, std::source_location where) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    fail(fmt::format("[os.pipe] fcntl(fd={}, O_NONBLOCK)", fd), where);
  }
}

}  // namespace plab::os
