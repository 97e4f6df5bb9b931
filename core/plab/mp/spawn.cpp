// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/spawn.h"

#include <csignal>
#include <utility>

#include "plab/os/poll.h"
#include "plab/os/signals.h"
#include "plab/shm/wait.h"

namespace plab::mp {

namespace {

std::string exited_text(int rank, int exit_code) {
  if (exit_code < 0) {
    return fmt::format("process {} terminated with signal {}", rank, os::signal_name(-exit_code));
  }
  return fmt::format("process {} terminated with exit code {}", rank, exit_code);
}

/// The user's Ctrl-C goes to every process of the terminal: it is no failure of the child.
bool ended_well(int exit_code) { return exit_code == 0 || exit_code == -SIGINT; }

}  // namespace

ProcessFailed::ProcessFailed(const std::string& message, int rank, int pid, int exit_code)
    : Error(message), rank_(rank), pid_(pid), exit_code_(exit_code) {}

ProcessRaised::ProcessRaised(ChildError error, int rank, int pid, int exit_code)
    : ProcessFailed(fmt::format("\n\n-- Process {} terminated with the following error:\n{}", rank,
                                error.text()),
                    rank, pid, exit_code),
      error_(std::move(error)) {}

ProcessExited::ProcessExited(int rank, int pid, int exit_code)
    : ProcessFailed(exited_text(rank, exit_code), rank, pid, exit_code),
      signal_name_(exit_code < 0 ? os::signal_name(-exit_code) : std::string()) {}

struct SpawnContext::Impl {
  SpawnOptions options;
  std::vector<Process> processes;

  struct Look {
    std::vector<std::size_t> running;
    std::optional<std::size_t> failed;  ///< the lowest rank
  };
  /// Asks each process once. (A process that ends after it was asked is still in `running`, with a
  /// sentinel that is readable; one that was asked twice could be gone from under it.)
  [[nodiscard]] Look look() {
    Look seen;
    for (std::size_t rank = 0; rank < processes.size(); ++rank) {
      if (processes[rank].is_alive()) {
        seen.running.push_back(rank);
      } else if (!seen.failed && !ended_well(processes[rank].exitcode().value())) {
        seen.failed = rank;
      }
    }
    return seen;
  }
  /// Waits for the end of any; false: the deadline passed.
  bool wait_any_end(const std::vector<std::size_t>& ranks, Deadline deadline) {
    std::vector<int> sentinels;
    std::vector<pid_t> pids;
    for (const std::size_t rank : ranks) {
      sentinels.push_back(processes[rank].sentinel());
      pids.push_back(processes[rank].pid());
    }
    if (deadline.ns() == 0) return os::wait_any(sentinels, deadline).has_value();
    const shm::WaitSite site{.kind = shm::WaitKind::kJoin, .pids = pids};
    shm::WaitScope scope(site, deadline);
    scope.look();
    scope.looked();
    return os::wait_any(sentinels, deadline).has_value();
  }
  /// False: some still run at the deadline.
  bool wait_all(Deadline deadline) {
    for (auto& process : processes) {
      if (!process.join(deadline)) return false;
    }
    return true;
  }
  void end_all() {
    if (options.grace.count() > 0 && wait_all(Deadline::after(options.grace))) return;
    for (auto& process : processes) process.terminate();
    if (wait_all(Deadline::after(options.kill_after))) return;
    for (auto& process : processes) process.kill();
    (void)wait_all(Deadline::never());  // SIGKILL cannot be refused
  }
  [[noreturn]] void fail(std::size_t rank) {
    end_all();
    Process& process = processes[rank];
    const int number = static_cast<int>(rank);
    auto error = process.error();
    if (error) throw ProcessRaised(std::move(*error), number, process.pid(), *process.exitcode());
    throw ProcessExited(number, process.pid(), *process.exitcode());
  }
};

SpawnContext::SpawnContext(const MakeJob& make_job, int nprocs, const SpawnOptions& options)
    : impl_(std::make_unique<Impl>()) {
  if (nprocs < 0) {
    throw ContractError(fmt::format("[mp.spawn] nprocs is {}; give 0 or more", nprocs));
  }
  impl_->options = options;
  for (int rank = 0; rank < nprocs; ++rank) {
    impl_->processes.emplace_back(ProcessOptions{.name = fmt::format("rank {}", rank),
                                                 .daemon = options.daemon,
                                                 .start_method = options.start_method,
                                                 .print_errors = PrintErrors::kNo},
                                  make_job(rank));
    impl_->processes.back().start();
  }
}

SpawnContext::SpawnContext(SpawnContext&&) noexcept = default;
SpawnContext& SpawnContext::operator=(SpawnContext&&) noexcept = default;
SpawnContext::~SpawnContext() = default;

std::vector<int> SpawnContext::pids() const {
  std::vector<int> pids;
  for (const auto& process : impl_->processes) pids.push_back(process.pid());
  return pids;
}

std::vector<Process>& SpawnContext::processes() noexcept { return impl_->processes; }

bool SpawnContext::join(Deadline deadline, std::source_location where) {
  const shm::CallSite site(where);
  while (true) {
    const Impl::Look seen = impl_->look();
    if (seen.failed) impl_->fail(*seen.failed);
    if (seen.running.empty()) return true;
    if (!impl_->wait_any_end(seen.running, deadline)) return false;
  }
}

}  // namespace plab::mp
