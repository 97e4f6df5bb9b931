#pragma once
// SPDX-License-Identifier: Apache-2.0
// The plug for start methods: how a Job becomes a running child. fork.cpp, exec.cpp and
// forkserver.cpp implement it.

#include <memory>
#include <optional>
#include <string>

#include "plab/base/deadline.h"
#include "plab/mp/context.h"
#include "plab/mp/job.h"
#include "plab/os/process.h"
#include "plab/os/unique_fd.h"

namespace plab::mp {

/// A running child, as its start method sees it.
class Child {
 public:
  virtual ~Child() = default;
  [[nodiscard]] virtual int pid() const noexcept = 0;
  /// Readable for poll(2) when it has ended.
  [[nodiscard]] virtual int sentinel() const noexcept = 0;
  /// How it ended; nothing until the deadline. The same answer ever after.
  /// @blocks until its end or `deadline`
  [[nodiscard]] virtual std::optional<os::ExitStatus> wait(Deadline deadline) = 0;
  /// Sends a signal; nothing happens when it has ended.
  virtual void kill(int signal) = 0;
};

/// What a child is told about itself.
struct ChildInfo {
  std::string name;
  bool daemon = false;
  bool print_errors = true;
};

/// With whom a child dies.
struct Parent {
  os::ProcessIdentity identity;
  os::StartedBy started_by = os::StartedBy::kMainThread;
};
/// This process and thread, about to start a child.
[[nodiscard]] Parent this_parent();

/// A start method. One object each, for the whole process.
class Starter {
 public:
  virtual ~Starter() = default;
  /// What can be done before the first start.
  virtual void prepare() {}
  /// Starts a process that runs `job` and writes what it throws to the file `report`.
  [[nodiscard]] virtual std::unique_ptr<Child> start(Job& job, const ChildInfo& info,
                                                     const os::UniqueFd& report) = 0;
};

[[nodiscard]] Starter& starter_for(StartMethod method);
[[nodiscard]] Starter& fork_starter();
[[nodiscard]] Starter& exec_starter();
[[nodiscard]] Starter& forkserver_starter();
/// In a forked child: its parent's server is not its own.
void forget_forkserver() noexcept;

/// A child that is a child of this very process.
[[nodiscard]] std::unique_ptr<Child> own_child(os::Process process);

}  // namespace plab::mp
