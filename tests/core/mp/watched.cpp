// SPDX-License-Identifier: Apache-2.0
#include "core/mp/watched.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "plab/os/proc.h"
#include "support/gate.h"

namespace plab::test {

Watched::Watched(const std::vector<std::string>& arguments) : watcher_(folder_.path()) {
  os::become_subreaper();
  const auto [name, value] = watcher_.environment();
  std::vector<std::string> environment = os::environment();
  environment.push_back(name + "=" + value);
  std::vector<std::string> words{PLAB_WATCH_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  program_ = os::spawn_process(
      words[0],
      {.argv = words, .env = environment, .descriptors = {}, .new_group = os::NewGroup::kYes});
}

Watched::~Watched() {
  ::kill(-program_.pid(), SIGKILL);
  (void)program_.wait(patience());
}

std::optional<shm::Verdict> Watched::verdict() {
  const Deadline limit = patience();
  while (!program_.wait(Deadline::after(std::chrono::milliseconds(20))) && !limit.expired()) {
    if (auto found = watcher_.look()) return found;
  }
  return std::nullopt;
}

void reap() {
  for (auto pids = os::child_pids(); !pids.empty(); pids = os::child_pids()) {
    for (const int pid : pids) {
      os::Process child = os::Process::adopt(pid);
      child.kill(SIGKILL);
      (void)child.wait(Deadline::never());
    }
  }
}

std::string run_healthy(int from, int to) {
  std::string trouble;
  for (int first = from; first < to && trouble.empty(); first += 8) {
    std::vector<std::unique_ptr<Watched>> running;
    for (int seed = first; seed < std::min(first + 8, to); ++seed) {
      running.push_back(
          std::make_unique<Watched>(std::vector<std::string>{"healthy", std::to_string(seed)}));
    }
    for (std::size_t i = 0; i < running.size() && trouble.empty(); ++i) {
      const auto verdict = running[i]->verdict();
      const auto status = running[i]->program().wait(patience());
      if (verdict)
        trouble = fmt::format("seed {}: {}", first + static_cast<int>(i), verdict->text());
      if (!status || !status->success()) {
        trouble += fmt::format("seed {}: {}", first + static_cast<int>(i),
                               status ? status->text() : "it did not end");
      }
    }
  }
  reap();
  return trouble;
}

}  // namespace plab::test
