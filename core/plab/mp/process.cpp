// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/process.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <utility>

#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/mp/child.h"
#include "plab/mp/children.h"
#include "plab/mp/process_state.h"
#include "plab/mp/starter.h"
#include "plab/os/memfd.h"
#include "plab/os/signals.h"
#include "plab/shm/reclaim.h"
#include "plab/shm/wait.h"

namespace plab::mp {

namespace {

std::string next_name() {
  static std::atomic<int> number{0};
  return fmt::format("Process-{}", ++number);
}

int code_of(const os::ExitStatus& status) {
  return status.signal != 0 ? -status.signal : status.code;
}

}  // namespace

struct Process::Impl {
  ProcessOptions options;
  std::unique_ptr<Job> job;  // until it is started
  int owner = os::self_identity().pid;
  int pid = 0;
  std::shared_ptr<Child> child;  // from start to close
  os::UniqueFd report;
  std::optional<int> exitcode;  // once it has ended
  std::optional<ChildError> error;

  void check_owner(const char* call) const {
    if (os::self_identity().pid == owner) return;
    throw ContractError(fmt::format(
        "[mp.process] {}: process {} is a child of process {}, not of this one; only its "
        "parent can do that",
        call, options.name, owner));
  }
  [[nodiscard]] Child& started(const char* call) const {
    check_owner(call);
    if (child) return *child;
    throw ContractError(
        fmt::format("[mp.process] {}: process {} {}", call, options.name,
                    pid == 0 ? "was not started; call start() first" : "was closed"));
  }
  std::optional<os::ExitStatus> wait(Deadline deadline) {
    auto status = child->wait(Deadline::passed());
    if (status || deadline.ns() == 0) return status;
    const std::array<pid_t, 1> pids{pid};
    const shm::WaitSite site{.kind = shm::WaitKind::kJoin, .pids = pids};
    shm::WaitScope scope(site, deadline);
    scope.look();
    scope.looked();
    return child->wait(deadline);
  }
  /// Whether it has ended; takes its status and error the first time.
  bool ended(Deadline deadline) {
    if (exitcode) return true;
    const auto status = wait(deadline);
    if (!status) return false;
    error = read_report(report.get());
    exitcode = code_of(*status);
    shm::sweep_holder(pid);  // what it still held of shared memory is free now
    if (options.daemon == Daemon::kYes) remove_daemon(child);
    return true;
  }
};

Process::Process(ProcessOptions options, std::unique_ptr<Job> job)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->job = std::move(job);
  if (impl_->options.name.empty()) impl_->options.name = next_name();
}

Process::Process(Process&& other) noexcept = default;

Process& Process::operator=(Process&& other) noexcept {
  Process(std::move(other)).impl_.swap(impl_);
  return *this;
}

Process::~Process() {
  if (!impl_ || !impl_->child || impl_->exitcode) return;
  // A forked child has a copy of its parent's object, and must leave the process alone.
  if (os::self_identity().pid != impl_->owner) return;
  try {
    if (impl_->ended(Deadline::passed())) return;
    if (impl_->options.daemon == Daemon::kNo) {
      log::warning(
          "[mp.process] {} (pid {}) still runs while its Process goes; it is ended. "
          "join() it first",
          impl_->options.name, impl_->pid);
    }
    end_child(*impl_->child, Deadline::after(kGentle));
    if (impl_->options.daemon == Daemon::kYes) remove_daemon(impl_->child);
  } catch (const std::exception& problem) {
    log::error("[mp.process] {}: {}", impl_->options.name, problem.what());
  }
}

void Process::start() {
  Impl& impl = *impl_;
  impl.check_owner("start");
  if (!impl.job) {
    throw ContractError(fmt::format("[mp.process] process {} was started before; make a new one",
                                    impl.options.name));
  }
  if (current_process_is_daemon()) {
    throw ContractError(fmt::format(
        "[mp.process] daemonic processes are not allowed to have children: {} is a daemon",
        current_process_name()));
  }
  Starter& starter = starter_for(impl.options.start_method.value_or(get_start_method()));
  impl.report = os::create_memfd("plab-report", Bytes{0});
  const ChildInfo info{impl.options.name, impl.options.daemon == Daemon::kYes,
                       impl.options.print_errors == PrintErrors::kYes};
  impl.child = starter.start(*impl.job, info, impl.report);
  impl.pid = impl.child->pid();
  impl.job.reset();
  if (info.daemon) add_daemon(impl.child);
}

bool Process::join(Deadline deadline, std::source_location where) {
  const shm::CallSite site(where);
  if (impl_->exitcode) return true;
  (void)impl_->started("join");
  return impl_->ended(deadline);
}

void Process::terminate() {
  if (impl_->exitcode) return;
  impl_->started("terminate").kill(SIGTERM);
}

void Process::kill() {
  if (impl_->exitcode) return;
  impl_->started("kill").kill(SIGKILL);
}

void Process::close() {
  if (impl_->child) {
    impl_->check_owner("close");
    if (!impl_->ended(Deadline::passed())) {
      throw ContractError(fmt::format(
          "[mp.process] close: process {} (pid {}) still runs; join() or terminate() it first",
          impl_->options.name, impl_->pid));
    }
  }
  impl_->child.reset();
  impl_->report.reset();
  impl_->job.reset();
}

bool Process::is_alive() {
  if (impl_->exitcode || impl_->pid == 0) return false;
  (void)impl_->started("is_alive");
  return !impl_->ended(Deadline::passed());
}

std::optional<int> Process::exitcode() {
  if (!impl_->exitcode && impl_->child) {
    impl_->check_owner("exitcode");
    (void)impl_->ended(Deadline::passed());
  }
  return impl_->exitcode;
}

std::string Process::signal_name() {
  const auto code = exitcode();
  return code && *code < 0 ? os::signal_name(-*code) : std::string();
}

std::optional<ChildError> Process::error() {
  (void)exitcode();
  return impl_->error;
}

int Process::pid() const noexcept { return impl_->pid; }
const std::string& Process::name() const noexcept { return impl_->options.name; }
Daemon Process::daemon() const noexcept { return impl_->options.daemon; }
int Process::sentinel() const { return impl_->started("sentinel").sentinel(); }

}  // namespace plab::mp
