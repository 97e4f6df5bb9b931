// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/watch.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "plab/base/env.h"
#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/os/file.h"
#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/os/signals.h"
#include "plab/os/temp.h"
#include "plab/shm/watcher.h"

namespace plab::mp {

namespace {

constexpr int kDeadlock = 3;
constexpr std::chrono::milliseconds kLookEvery{20};

/// This process is a subreaper: what loses its parent becomes its child.
void end_all_children() {
  for (auto pids = os::child_pids(); !pids.empty(); pids = os::child_pids()) {
    for (const int pid : pids) {
      os::Process child = os::Process::adopt(pid);
      child.kill(SIGKILL);
      (void)child.wait(Deadline::never());  // SIGKILL cannot be refused
    }
  }
}

void tell(const shm::Verdict& verdict) {
  std::fputs(verdict.text().c_str(), stderr);
  const auto picture = env::get("PLAB_WATCH_SVG");
  if (!picture) return;
  try {
    os::write_file(*picture, verdict.svg());
    fmt::print(stderr, "picture {}\n", *picture);
  } catch (const Error& problem) {
    log::warning("[mp.watch] the picture could not be written: {}", problem.what());
  }
}

/// Until the program ends: how.
os::ExitStatus watch(os::Process& program, shm::Watcher& watcher) {
  const os::InterruptFlag interrupt;
  bool handed_on = false;
  for (;;) {
    if (const auto status = program.wait(Deadline::after(kLookEvery))) return *status;
    // Ctrl-C of a terminal has reached the program already.
    if (!handed_on && interrupt.raised() == SIGTERM) handed_on = program.kill(SIGTERM);
    if (const auto verdict = watcher.look()) {
      tell(*verdict);
      end_all_children();
      return {.code = kDeadlock};
    }
  }
}

[[noreturn]] void end_as(const os::ExitStatus& status) {
  std::fflush(stderr);
  if (status.signal != 0) {
    static_cast<void>(std::signal(status.signal, SIG_DFL));
    static_cast<void>(std::raise(status.signal));
  }
  std::_Exit(status.signal != 0 ? 128 + status.signal : status.code);
}

// Of a watched program: kept, since a destructor here would remove its parent's table.
std::atomic<const shm::Watcher*> g_parents_watcher{nullptr};

}  // namespace

void watch_if_asked() {
  if (!env::get_bool("PLAB_WATCH", false) || env::get("PLAB_WATCH_TABLE")) return;
  os::TempFolder folder("plab-watch-");
  auto watcher = std::make_unique<shm::Watcher>(folder.path());
  const auto [name, value] = watcher->environment();
  ::setenv(name.c_str(), value.c_str(), 1);
  const os::ProcessIdentity self = os::self_identity();
  os::become_subreaper();
  auto program = os::fork_process();
  if (!program) {
    os::signal_on_parent_death(SIGTERM, self);
    g_parents_watcher = watcher.release();
    return;
  }
  const os::ExitStatus status = watch(*program, *watcher);
  watcher.reset();
  folder.reset();
  end_as(status);
}

}  // namespace plab::mp
