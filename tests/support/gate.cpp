// SPDX-License-Identifier: Apache-2.0
#include "support/gate.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <exception>

#include "plab/base/log.h"

namespace plab::test {

Deadline patience() { return Deadline::after(std::chrono::seconds(120)); }

// One byte in the pipe, never read: poll sees it in every process.
void Gate::open() {
  if (is_open()) return;
  const std::array<std::byte, 1> byte{};
  os::write_full(pipe_.write.get(), byte, patience());
}

bool Gate::pass() { return os::wait_ready(pipe_.read.get(), os::Ready::kReadable, patience()); }

bool Gate::is_open() {
  return os::wait_ready(pipe_.read.get(), os::Ready::kReadable, Deadline::passed());
}

void reset_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGABRT}) {
    ::signal(number, SIG_DFL);
  }
}

os::Process run_child(const std::function<int()>& body) {
  auto child = os::fork_process();
  if (child) return std::move(*child);
  reset_signals();
  int code = kThrew;
  try {
    code = body();
  } catch (const std::exception& problem) {
    log::error("[test.child] {}", problem.what());
  }
  ::_exit(code);
}

std::string end_of(os::Process& child) {
  if (const auto status = child.wait(patience())) return status->text();
  child.kill(SIGKILL);
  (void)child.wait(Deadline::never());
  return "still running";
}

std::string end_of_child(const std::function<int()>& body) {
  auto child = run_child(body);
  return end_of(child);
}

}  // namespace plab::test
