#pragma once
// SPDX-License-Identifier: Apache-2.0
// A child process that runs one function.

#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plab/base/deadline.h"
#include "plab/mp/child_error.h"
#include "plab/mp/context.h"
#include "plab/mp/job.h"

namespace plab::mp {

/// Whether a process may be left over when its parent exits. A daemon is ended then (SIGTERM), and
/// may start no processes itself.
enum class Daemon { kNo, kYes };
/// Where an exception of a child goes besides Process::error(): to its standard error or not.
enum class PrintErrors { kNo, kYes };

struct ProcessOptions {
  std::string name{};  ///< shown in messages and the timeline; empty: "Process-N"
  Daemon daemon = Daemon::kNo;
  std::optional<StartMethod> start_method{};  ///< nothing: get_start_method()
  PrintErrors print_errors = PrintErrors::kYes;
};

/// Marks a process that always starts by fork, so that its function may capture and its arguments
/// may be anything: `Process p(kForkOnly, [&] { ... })`.
struct ForkOnly {};
inline constexpr ForkOnly kForkOnly{};

/// One child process. Like std::thread, with a separate start().
///
///   mp::Process worker(train, model, 3);
///   worker.start();
///   worker.join(Deadline::never());
///
/// The function runs with copies of the arguments: by fork they are the parent's objects, copied on
/// write, so a tensor that is not shared is the child's own; by spawn and forkserver they are
/// serialised, which moves every tensor to shared memory. When the function returns, the child
/// flushes its queues and standard streams and exits with 0; when it throws, with 1. Destructors of
/// static objects do not run in the child.
///
/// A child dies with its parent: SIGKILL when the parent is killed, at any depth.
///
/// The destructor of a Process that still runs ends it: SIGTERM, SIGKILL after two seconds, with a
/// warning in the log unless it is a daemon. It never leaves a zombie.
/// @threads one object from one thread at a time
/// @fork the child's copy of its parent's Process does nothing when it goes; other calls throw
class Process {
 public:
  template <typename Fn, typename... Args>
  requires(!std::is_same_v<std::decay_t<Fn>, ProcessOptions> &&
           !std::is_same_v<std::decay_t<Fn>, ForkOnly> &&
           !std::is_same_v<std::decay_t<Fn>, Process>) explicit Process(Fn&& fn, Args&&... args)
      : Process(ProcessOptions{}, std::forward<Fn>(fn), std::forward<Args>(args)...) {}
  template <typename Fn, typename... Args>
  Process(ProcessOptions options, Fn&& fn, Args&&... args)
      : Process(std::move(options), make_job<std::decay_t<Fn>, detail::stored_t<Args>...>(
                                        std::forward<Fn>(fn), std::tuple<detail::stored_t<Args>...>(
                                                                  std::forward<Args>(args)...))) {}
  template <typename Fn, typename... Args>
  requires(!std::is_same_v<std::decay_t<Fn>, ProcessOptions>)
      Process(ForkOnly tag, Fn&& fn, Args&&... args)
      : Process(tag, ProcessOptions{}, std::forward<Fn>(fn), std::forward<Args>(args)...) {}
  /// The start method of the options is not asked.
  template <typename Fn, typename... Args>
  Process(ForkOnly /*tag*/, ProcessOptions options, Fn&& fn, Args&&... args)
      : Process(
            by_fork(std::move(options)),
            std::unique_ptr<Job>(std::make_unique<ForkJob<std::decay_t<Fn>, std::decay_t<Args>...>>(
                std::forward<Fn>(fn),
                std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)))) {}
  Process(ProcessOptions options, std::unique_ptr<Job> job);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  /// Starts it. Drops the arguments in this process (a Connection that was moved in is closed
  /// here).
  /// @throws ContractError when it was started before, in a daemon, without init() where that is
  /// needed, or when an argument refuses to travel; ResourceError when no process can be made
  void start();
  /// Waits for its end. True when it has ended, false when the deadline passed first.
  /// @blocks until the end of the child or `deadline`
  /// @throws ContractError when it was not started or belongs to the parent
  bool join(Deadline deadline, std::source_location where = std::source_location::current());
  /// Sends SIGTERM; SIGKILL. Nothing happens when it has ended. @throws ContractError before start
  void terminate();
  void kill();
  /// Gives back descriptors and memory of an ended process; afterwards only exitcode(), error() and
  /// name() are left. @throws ContractError while it runs
  void close();

  [[nodiscard]] bool is_alive();
  /// Nothing while it runs (or before); n >= 0 for exit(n); -s when signal s ended it. When the
  /// server of a forkserver process was killed, -SIGKILL.
  [[nodiscard]] std::optional<int> exitcode();
  /// "SIGSEGV" when a signal ended it; else empty.
  [[nodiscard]] std::string signal_name();
  /// The exception that left its function, once it has ended.
  [[nodiscard]] std::optional<ChildError> error();
  /// 0 before start.
  [[nodiscard]] int pid() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] Daemon daemon() const noexcept;
  /// A descriptor for poll(2): readable when the process has ended. Owned by this object, and -1
  /// once a call of it has seen the end.
  /// @throws ContractError before start and after close
  [[nodiscard]] int sentinel() const;

 private:
  static ProcessOptions by_fork(ProcessOptions options) {
    options.start_method = StartMethod::kFork;
    return options;
  }
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plab::mp
