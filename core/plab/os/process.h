#pragma once
// SPDX-License-Identifier: Apache-2.0
// Child processes: started, waited for and signalled through a handle that a reused pid cannot
// deceive.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plab/base/deadline.h"
#include "plab/os/unique_fd.h"

namespace plab::os {

/// How a process ended: by a code or by a signal.
struct ExitStatus {
  int code = 0;    ///< of exit(); 0 to 255; 0 when a signal ended it
  int signal = 0;  ///< 0: it exited by itself
  bool core = false;
  [[nodiscard]] bool success() const noexcept { return code == 0 && signal == 0; }
  /// "exited with code 3" or "killed by SIGKILL".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// A process for good: the pid alone may be given to another one later.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks after boot, field 22 of /proc/PID/stat

  /// Both in one word for shared memory: pid in the low 22 bits, start in the next 41; the top bit
  /// is free. 0 is no process.
  [[nodiscard]] std::uint64_t packed() const noexcept;
  [[nodiscard]] static ProcessIdentity from_packed(std::uint64_t word) noexcept;
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The identity of this process; right in a forked child too.
[[nodiscard]] ProcessIdentity self_identity() noexcept;
/// When a process started, or nothing when there is none of that pid.
[[nodiscard]] std::optional<std::uint64_t> start_time(pid_t pid) noexcept;
/// Whether that very process still runs; a zombie does not. Holds inside one pid namespace. Where
/// /proc cannot be read, a process that kill(2) knows counts as alive.
[[nodiscard]] bool is_alive(ProcessIdentity who) noexcept;
[[nodiscard]] bool is_alive(pid_t pid, std::uint64_t start) noexcept;

enum class UsePidfd { kIfThere, kNever };

/// A child of this process. Lets go of it without waiting or killing when it goes.
/// @fork the child's copy can kill; wait and try_wait throw ContractError there, because only the
/// parent of a process can wait for it
class Process {
 public:
  Process() = default;
  Process(Process&& other) noexcept { swap(other); }
  Process& operator=(Process&& other) noexcept {
    Process(std::move(other)).swap(*this);
    return *this;
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() = default;

  /// Takes over a child that has not been waited for. Without pidfd_open (kernel before 5.3,
  /// or UsePidfd::kNever) waiting looks every few milliseconds and kill goes by the pid, which is
  /// safe as long as nobody else waits for this child.
  [[nodiscard]] static Process adopt(pid_t pid, UsePidfd use = UsePidfd::kIfThere);

  [[nodiscard]] pid_t pid() const noexcept { return identity_.pid; }
  [[nodiscard]] ProcessIdentity identity() const noexcept { return identity_; }
  /// Readable for poll(2) when the process has ended; -1 without pidfd.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return identity_.pid != 0; }

  /// How it ended, or nothing when the deadline passes first. After the first answer every later
  /// call gives the same. Reaps the process.
  /// @blocks until the end of the process or `deadline`
  /// @throws ContractError for an empty handle or a handle of the parent; SystemError (ECHILD) when
  /// somebody else has reaped it
  [[nodiscard]] std::optional<ExitStatus> wait(Deadline deadline);
  /// As wait with a passed deadline.
  [[nodiscard]] std::optional<ExitStatus> try_wait() { return wait(Deadline::passed()); }
  /// Sends a signal. False when the process has ended already. @throws SystemError (EPERM, EINVAL)
  bool kill(int signal);
  void swap(Process& other) noexcept;

 private:
  UniqueFd pidfd_;
  ProcessIdentity identity_;
  pid_t parent_ = 0;
  std::optional<ExitStatus> status_;
};

/// fork(2), with the handlers of pthread_atfork: returns nothing in the child.
/// @throws ResourceError when no process can be made (EAGAIN, ENOMEM)
[[nodiscard]] std::optional<Process> fork_process(
    std::source_location where = std::source_location::current());

enum class NewGroup { kNo, kYes };

/// What a spawned program starts with.
struct SpawnOptions {
  std::vector<std::string> argv;  ///< argv[0] too
  std::vector<std::string> env;   ///< "NAME=value", the whole environment
  /// (ours, number in the child). What plab opens is close-on-exec and stays away otherwise; what
  /// this process itself was started with and did not mark so passes on too.
  std::vector<std::pair<int, int>> descriptors;
  NewGroup new_group = NewGroup::kNo;  ///< a process group of its own
};

/// Starts a program by posix_spawn (no copy of page tables). Signal dispositions are default and
/// the mask is empty in the child; handlers of pthread_atfork do not run.
/// @throws SystemError naming the path (ENOENT, EACCES ...), ResourceError when no process can be
/// made, ContractError for an empty argv or a child number given twice
[[nodiscard]] Process spawn_process(const std::string& path, const SpawnOptions& options,
                                    std::source_location where = std::source_location::current());

/// This process's environment, for SpawnOptions::env.
[[nodiscard]] std::vector<std::string> environment();

/// From now on orphaned descendants become children of this process, not of init.
/// @throws SystemError
void become_subreaper(std::source_location where = std::source_location::current());

/// Asks the kernel to send `signal` to this process when its parent thread dies. When the parent is
/// gone already, sends it at once. @fork not inherited
/// @throws SystemError
void signal_on_parent_death(int signal, ProcessIdentity parent,
                            std::source_location where = std::source_location::current());

/// Which thread of the parent made this process.
enum class StartedBy { kMainThread, kOtherThread };

/// This process is to be killed when its parent dies. The kernel knows only of the thread that made
/// this process: for another than the main one, whose end is not the parent's, it sends a signal of
/// plab's own (SIGRTMAX - 3) whose handler looks whether the parent is still the parent. That way
/// fails in a process that blocks the signal; from the main thread it is SIGKILL at once.
/// @fork not inherited: the child of this process calls it for itself
/// @throws SystemError
void die_with_parent(ProcessIdentity parent, StartedBy started_by,
                     std::source_location where = std::source_location::current());

/// Waits for any child that has ended; nothing when none has, or none is left.
/// Also takes children which a Process handle stands for: only for a process that has no handles
/// (a reaper).
[[nodiscard]] std::optional<std::pair<pid_t, ExitStatus>> reap_any();

}  // namespace plab::os
