// SPDX-License-Identifier: Apache-2.0
#include "faults/demo_run.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "plab/os/file.h"
#include "plab/os/proc.h"
#include "plab/os/unique_fd.h"

namespace plab::test {

using namespace std::chrono_literals;

namespace {

std::vector<int> children_of(int pid) {
  std::vector<int> children;
  std::error_code gone;
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", pid);
  for (std::filesystem::directory_iterator at(tasks, gone), end; !gone && at != end;
       at.increment(gone)) {
    std::ifstream list(at->path() / "children");
    for (int child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

os::UniqueFd new_file(const std::filesystem::path& path) {
  return os::UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

os::Process start(const std::filesystem::path& folder, std::vector<std::string> arguments) {
  os::become_subreaper();
  std::vector<std::string> words{PLAB_LAB, "demo"};
  std::ranges::move(arguments, std::back_inserter(words));
  words.insert(words.end(), {"--out", (folder / "out").string()});
  const os::UniqueFd out = new_file(folder / "stdout");
  const os::UniqueFd err = new_file(folder / "stderr");
  return os::spawn_process(PLAB_LAB, {.argv = words,
                                      .env = os::environment(),
                                      .descriptors = {{out.get(), 1}, {err.get(), 2}},
                                      .new_group = os::NewGroup::kYes});
}

}  // namespace

std::string DemoEnd::last_line() const {
  std::string last;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) last = line;
  return last;
}

std::string DemoEnd::text() const {
  return fmt::format("{}\n--- out\n{}--- err\n{}", status.text(), out, err);
}

DemoRun::DemoRun(std::vector<std::string> arguments)
    : process_(start(folder_.path(), std::move(arguments))) {}

DemoRun::~DemoRun() {
  process_.kill(SIGKILL);
  static_cast<void>(process_.wait(patience()));
  static_cast<void>(survivors());
}

std::vector<int> DemoRun::descendants() const {
  std::vector<int> all = children_of(process_.pid());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<int> below = children_of(all[i]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

DemoEnd DemoRun::end() {
  const auto status = process_.wait(patience());
  DemoEnd end{.status = status.value_or(os::ExitStatus{.code = 255}),
              .out = os::read_file(folder_.path() / "stdout"),
              .err = os::read_file(folder_.path() / "stderr")};
  if (!status) end.err += "still running\n";
  return end;
}

std::string DemoRun::survivors() {
  const Deadline deadline = patience();
  for (;;) {
    while (os::reap_any()) {
    }
    const std::vector<int> left = os::child_pids();
    if (left.empty()) return "";
    if (deadline.expired())
      return fmt::format("{} processes, the first is {}", left.size(), left[0]);
    std::this_thread::sleep_for(2ms);  // looks again; nothing depends on how long
  }
}

DemoEnd demo(std::vector<std::string> arguments) { return DemoRun(std::move(arguments)).end(); }

}  // namespace plab::test
