// SPDX-License-Identifier: Apache-2.0
#include "plab/os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <string_view>

#include "plab/os/pipe.h"
#include "plab/os/signals.h"
#include "plab/os/syscall.h"

namespace plab::os {

std::string ExitStatus::text() const {
  if (signal != 0) {
    return fmt::format("killed by {}{}", signal_name(signal), core ? " (core dumped)" : "");
  }
  return fmt::format("exited with code {}", code);
}

namespace {

constexpr unsigned kPidBits = 22;    // the kernel's PID_MAX_LIMIT is 2^22
constexpr unsigned kStartBits = 41;  // of ticks of 10 ms: 697 years after boot

struct Stat {
  char state = '?';
  std::uint64_t threads = 0;
  std::uint64_t start = 0;
};

// The parts of /proc/<pid>/stat that count. No allocation: it runs in handlers of pthread_atfork.
std::optional<Stat> read_stat(pid_t pid) noexcept {
  std::array<char, 32> path{};
  *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", pid).out = '\0';
  const UniqueFd fd(retry([&] { return ::open(path.data(), O_RDONLY | O_CLOEXEC); }));
  if (!fd) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t n = retry([&] { return ::read(fd.get(), text.data(), text.size()); });
  if (n <= 0) return std::nullopt;
  // The name, field 2, is in brackets and may hold anything, brackets too: count from the last one.
  const std::string_view all(text.data(), static_cast<std::size_t>(n));
  std::size_t at = all.rfind(')');
  if (at == std::string_view::npos || at + 2 >= all.size()) return std::nullopt;
  Stat stat;
  stat.state = all[at + 2];
  int field = 2;
  while (at < all.size() && field < 22) {
    at = all.find(' ', at);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
    ++field;
    std::uint64_t* const into = field == 20 ? &stat.threads : field == 22 ? &stat.start : nullptr;
    if (into != nullptr) std::from_chars(all.data() + at, all.data() + all.size(), *into);
  }
  return stat;
}

}  // namespace

std::uint64_t ProcessIdentity::packed() const noexcept {
  return (start & ((std::uint64_t{1} << kStartBits) - 1)) << kPidBits |
         static_cast<std::uint64_t>(pid);
}

ProcessIdentity ProcessIdentity::from_packed(std::uint64_t word) noexcept {
  return {static_cast<pid_t>(word & ((1U << kPidBits) - 1)),
          (word >> kPidBits) & ((std::uint64_t{1} << kStartBits) - 1)};
}

std::optional<std::uint64_t> start_time(pid_t pid) noexcept {
  const auto stat = read_stat(pid);
  if (!stat) return std::nullopt;
  return stat->start;
}

ProcessIdentity self_identity() noexcept {
  static std::atomic<std::uint64_t> cache{0};
  const pid_t pid = ::getpid();
  auto identity = ProcessIdentity::from_packed(cache.load(std::memory_order_relaxed));
  if (identity.pid != pid) {  // the first call, or this is a forked child
    identity = {pid, start_time(pid).value_or(0)};
    cache.store(identity.packed(), std::memory_order_relaxed);
  }
  return identity;
}

bool is_alive(ProcessIdentity who) noexcept {
  if (who.pid <= 0) return false;
  const int saved = errno;
  bool alive = false;
  if (const auto stat = read_stat(who.pid)) {
    // A leader that has left while its other threads run shows as a zombie too.
    const bool ended = (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
    alive = !ended && stat->start == who.start;
  } else {
    alive = ::kill(who.pid, 0) == 0 || errno == EPERM;
  }
  errno = saved;
  return alive;
}

bool is_alive(pid_t pid, std::uint64_t start) noexcept {
  return is_alive(ProcessIdentity{pid, start});
}

namespace {

ExitStatus from_siginfo(const siginfo_t& info) {
  ExitStatus status;
  if (info.si_code == CLD_EXITED) {
    status.code = info.si_status;
  } else {
    status.signal = info.si_status;
    status.core = info.si_code == CLD_DUMPED;
  }
  return status;
}

// Waits for the end without reaping. True when it has ended.
bool wait_for_end(int pidfd, pid_t pid, Deadline deadline) {
  if (pidfd >= 0) return wait_ready(pidfd, Ready::kReadable, deadline);
  for (long pause_ms = 1;; pause_ms = std::min(2 * pause_ms, 16L)) {
    siginfo_t info{};
    const int rc = retry([&] {
      return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    });
    if (rc != 0) fail(fmt::format("[os.process] waitid(pid={})", pid));
    if (info.si_pid != 0) return true;
    if (deadline.ns() == 0 || deadline.expired()) return false;
    const auto nap = std::min<std::int64_t>(pause_ms * 1'000'000, deadline.remaining().count());
    const std::timespec span{nap / 1'000'000'000, nap % 1'000'000'000};
    ::nanosleep(&span, nullptr);
  }
}

}  // namespace

Process Process::adopt(pid_t pid, UsePidfd use) {
  Process process;
  process.parent_ = ::getpid();
  process.identity_ = {pid, start_time(pid).value_or(0)};
  if (use == UsePidfd::kIfThere) {
    // Failure is no error: wait and kill have another way (old kernel, descriptor limit).
    process.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  return process;
}

std::optional<ExitStatus> Process::wait(Deadline deadline) {
  if (!*this) throw ContractError("[os.process] wait on an empty Process handle");
  if (parent_ != ::getpid()) {
    throw ContractError(
        fmt::format("[os.process] process {} is a child of {}, not of {}; only its "
                    "parent can wait for it",
                    pid(), parent_, ::getpid()));
  }
  if (status_) return status_;
  if (!wait_for_end(pidfd_.get(), pid(), deadline)) return std::nullopt;
  siginfo_t info{};
  const int rc =
      retry([&] { return ::waitid(P_PID, static_cast<id_t>(pid()), &info, WEXITED | WNOHANG); });
  if (rc != 0) fail(fmt::format("[os.process] waitid(pid={})", pid()));
  if (info.si_pid == 0) return std::nullopt;
  status_ = from_siginfo(info);
  pidfd_.reset();
  return status_;
}

bool Process::kill(int signal) {
  if (!*this) throw ContractError("[os.process] kill on an empty Process handle");
  if (status_) return false;
  const long rc = pidfd_ ? ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0)
                         : ::kill(pid(), signal);
  if (rc == 0) return true;
  if (errno == ESRCH) return false;
  fail(fmt::format("[os.process] kill(pid={}, {})", pid(), signal_name(signal)));
}

void Process::swap(Process& other) noexcept {
  pidfd_.swap(other.pidfd_);
  std::swap(identity_, other.identity_);
  std::swap(parent_, other.parent_);
  std::swap(status_, other.status_);
}

std::optional<Process> fork_process(std::source_location where) {
  const pid_t pid = ::fork();
  if (pid == 0) return std::nullopt;
  if (pid > 0) return Process::adopt(pid);
  if (errno == EAGAIN || errno == ENOMEM) {
    throw ResourceError(
        fmt::format("[os.process] fork: {}; the limit of processes (ulimit -u) or of the control "
                    "group is reached, or memory is short",
                    errno_text(errno)),
        where);
  }
  fail("[os.process] fork", where);
}

std::vector<std::string> environment() {
  std::vector<std::string> list;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    list.emplace_back(*entry);
  }
  return list;
}

void become_subreaper(std::source_location where) {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) fail("[os.process] subreaper", where);
}

void signal_on_parent_death(int signal, ProcessIdentity parent, std::source_location where) {
  if (::prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) != 0) {
    fail(fmt::format("[os.process] PR_SET_PDEATHSIG({})", signal_name(signal)), where);
  }
  // The parent may have died before the line above: then the kernel sends nothing. It has another
  // parent by then. (Asking whether the old one lives is not enough: it does to the eye until its
  // last thread is gone, and that may be after its children were given away.)
  if (::getppid() != parent.pid || !is_alive(parent)) ::raise(signal);
}

namespace {

std::atomic<pid_t> expected_parent{0};

void look_for_parent(int /*signal*/) {
  if (::getppid() != expected_parent.load()) ::kill(::getpid(), SIGKILL);
}

}  // namespace

void die_with_parent(ProcessIdentity parent, StartedBy started_by, std::source_location where) {
  if (started_by == StartedBy::kMainThread) return signal_on_parent_death(SIGKILL, parent, where);
  const int number = SIGRTMAX - 3;
  expected_parent.store(parent.pid);
  struct sigaction action {};
  action.sa_handler = &look_for_parent;
  action.sa_flags = SA_RESTART;
  if (::sigaction(number, &action, nullptr) != 0) fail("[os.process] sigaction", where);
  signal_on_parent_death(number, parent, where);
  look_for_parent(number);  // it may have died before the kernel was asked
}

std::optional<std::pair<pid_t, ExitStatus>> reap_any() {
  siginfo_t info{};
  if (retry([&] { return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG); }) != 0) {
    if (errno == ECHILD) return std::nullopt;
    fail("[os.process] waitid(P_ALL)");
  }
  if (info.si_pid == 0) return std::nullopt;
  return std::pair(info.si_pid, from_siginfo(info));
}

}  // namespace plab::os
