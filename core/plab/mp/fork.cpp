// SPDX-License-Identifier: Apache-2.0
// The start method fork, and children that are direct children of this process.
#include <cstdio>
#include <iostream>

#include "plab/base/early.h"
#include "plab/base/error.h"
#include "plab/mp/child.h"
#include "plab/mp/starter.h"
#include "plab/os/thread.h"
#include "plab/shm/reclaim.h"

namespace plab::mp {

namespace {

class OwnChild final : public Child {
 public:
  explicit OwnChild(os::Process process) : process_(std::move(process)) {}
  [[nodiscard]] int pid() const noexcept override { return process_.pid(); }
  [[nodiscard]] int sentinel() const noexcept override { return process_.pidfd(); }
  [[nodiscard]] std::optional<os::ExitStatus> wait(Deadline deadline) override {
    return process_.wait(deadline);
  }
  void kill(int signal) override { process_.kill(signal); }

 private:
  os::Process process_;
};

class ForkStarter final : public Starter {
 public:
  [[nodiscard]] std::unique_ptr<Child> start(Job& job, const ChildInfo& info,
                                             const os::UniqueFd& report) override {
    // What is buffered would otherwise be written twice, by parent and child.
    std::cout.flush();
    std::fflush(nullptr);
    shm::ensure_room_for_child();
    const Parent parent = this_parent();
    auto process = os::fork_process();
    if (!process) {
      after_fork_in_child();
      run_child(info, parent, report.get(), [&job] { job.run(); });
    }
    return own_child(std::move(*process));
  }
};

}  // namespace

Parent this_parent() {
  const bool main_thread = os::current_tid() == os::current_pid();
  return {os::self_identity(),
          main_thread ? os::StartedBy::kMainThread : os::StartedBy::kOtherThread};
}

std::unique_ptr<Child> own_child(os::Process process) {
  return std::make_unique<OwnChild>(std::move(process));
}

Starter& fork_starter() {
  static ForkStarter starter;
  return starter;
}

namespace {
const Early g_early_fork([] { (void)fork_starter(); });
}

Starter& starter_for(StartMethod method) {
  switch (method) {
    case StartMethod::kFork:
      return fork_starter();
    case StartMethod::kSpawn:
      return exec_starter();
    case StartMethod::kForkServer:
      return forkserver_starter();
  }
  throw ContractError(fmt::format("[mp.context] {} is no start method", static_cast<int>(method)));
}

}  // namespace plab::mp
