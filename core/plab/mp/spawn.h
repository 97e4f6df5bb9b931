#pragma once
// SPDX-License-Identifier: Apache-2.0
// Starts one function in several processes, and sees to their ends: torch.multiprocessing.spawn.

#include <chrono>
#include <memory>
#include <source_location>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plab/base/deadline.h"
#include "plab/base/error.h"
#include "plab/mp/process.h"

namespace plab::mp {

/// A process of spawn() failed. The root of the two below.
class ProcessFailed : public Error {
 public:
  ProcessFailed(const std::string& message, int rank, int pid, int exit_code);
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int pid() const noexcept { return pid_; }
  /// As Process::exitcode.
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

 private:
  int rank_;
  int pid_;
  int exit_code_;
};

/// Its function threw.
class ProcessRaised : public ProcessFailed {
 public:
  ProcessRaised(ChildError error, int rank, int pid, int exit_code);
  [[nodiscard]] const ChildError& error() const noexcept { return error_; }
  [[nodiscard]] const std::string& type() const noexcept { return error_.type(); }
  [[nodiscard]] const std::string& message() const noexcept { return error_.message(); }
  [[nodiscard]] const std::vector<std::string>& stack() const noexcept { return error_.stack; }

 private:
  ChildError error_;
};

/// It ended with a code other than 0, or by a signal, without an exception.
class ProcessExited : public ProcessFailed {
 public:
  ProcessExited(int rank, int pid, int exit_code);
  /// "SIGSEGV", or empty when it exited by itself.
  [[nodiscard]] const std::string& signal_name() const noexcept { return signal_name_; }

 private:
  std::string signal_name_;
};

struct SpawnOptions {
  StartMethod start_method = StartMethod::kSpawn;
  Daemon daemon = Daemon::kNo;
  /// How long the others may go on after the first failure before they get SIGTERM.
  std::chrono::nanoseconds grace{0};
  /// How long after SIGTERM until SIGKILL.
  std::chrono::nanoseconds kill_after = std::chrono::seconds(30);
};

/// The processes of one spawn. Its destructor ends those that still run, as that of Process does.
/// @threads from one thread at a time
class SpawnContext {
 public:
  using MakeJob = std::function<std::unique_ptr<Job>(int rank)>;
  /// Starts `nprocs` processes. When one cannot be started, those before it are ended.
  SpawnContext(const MakeJob& make_job, int nprocs, const SpawnOptions& options);
  SpawnContext(SpawnContext&&) noexcept;
  SpawnContext& operator=(SpawnContext&&) noexcept;
  ~SpawnContext();

  /// By rank.
  [[nodiscard]] std::vector<int> pids() const;
  [[nodiscard]] std::vector<Process>& processes() noexcept;
  /// Waits for all. True when all have ended well (again true when called again); false when the
  /// deadline passed first. The first that fails decides: the others get `grace`, then SIGTERM,
  /// then SIGKILL; all are waited for, then the failure is thrown. A process that ended by SIGINT
  /// counts as ended well: it is the user's Ctrl-C.
  /// @blocks until all have ended, or `deadline`; after a failure up to grace + kill_after longer
  /// @throws ProcessRaised, ProcessExited
  bool join(Deadline deadline, std::source_location where = std::source_location::current());

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Starts `fn(rank, args...)` for rank 0 to nprocs - 1 and returns while they run.
/// @throws ContractError when nprocs is negative, else as Process::start
template <typename Fn, typename... Args>
[[nodiscard]] SpawnContext start_processes(Fn fn, const std::tuple<Args...>& args, int nprocs,
                                           const SpawnOptions& options = {}) {
  detail::check_call<std::decay_t<Fn>, int, detail::stored_t<Args>...>();
  return SpawnContext(
      [&](int rank) {
        return make_job<std::decay_t<Fn>, int, detail::stored_t<Args>...>(
            fn, std::tuple_cat(std::tuple<int>(rank), std::tuple<detail::stored_t<Args>...>(args)));
      },
      nprocs, options);
}

/// Calls `fn(rank, args...)` in `nprocs` processes and returns when all have ended well. By default
/// by the start method spawn, whatever get_start_method() says, as in PyTorch.
///
///   mp::spawn(train, std::tuple(model, queue), 4);
///
/// @blocks until all have ended
/// @throws ProcessRaised when one threw; ProcessExited when one ended by a signal or exit code; the
/// others are ended first
template <typename Fn, typename... Args>
void spawn(Fn fn, const std::tuple<Args...>& args, int nprocs, const SpawnOptions& options = {},
           std::source_location where = std::source_location::current()) {
  start_processes(fn, args, nprocs, options).join(Deadline::never(), where);
}

}  // namespace plab::mp
