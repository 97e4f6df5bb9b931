// SPDX-License-Identifier: Apache-2.0
// The check of a lab whose lab.cpp may do anything: NASTY_HOW says what. Run by check_test through
// the lab tool's own run_check.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "plab/mp/init.h"
#include "plab/mp/spawn.h"
#include "support/check.h"
#include "support/not_done.h"

// A crash is to be a crash under AddressSanitizer too. (Only its runtime calls this.)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "handle_segv=0:handle_abort=0"; }

namespace {

std::atomic<bool> never{false};

[[gnu::noinline]] void crash(int rank) {
  if (rank == 1) raise(SIGSEGV);
}

void fork_50() {
  for (int i = 0; i < 50; ++i) {
    if (fork() == 0) {
      for (;;) pause();
    }
  }
}

// Dies at once, and nobody asks how.
void fork_one_that_crashes() {
  if (fork() == 0) raise(SIGSEGV);
  siginfo_t end{};
  waitid(P_ALL, 0, &end, WEXITED | WNOWAIT);  // it is dead, and still there to be asked
}

void leave_zombie() {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t end{};
  waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT);
}

// What lab.cpp would hold.
[[gnu::noinline]] void misbehave(const std::string& how) {
  if (how == "todo") throw plab::lab::NotDone{2};
  if (how == "busy") {
    while (!never.load()) {
    }
  }
  if (how == "print-for-ever") {
    while (!never.load()) {
      std::puts("on");
      std::fflush(stdout);
      usleep(1000);
    }
  }
  if (how == "fork-50") fork_50();
  if (how == "fork-50-and-exit") {
    fork_50();
    std::exit(0);
  }
  if (how == "segv") raise(SIGSEGV);
  if (how == "segv-in-child") plab::mp::spawn(crash, {}, 2);
  if (how == "segv-in-forgotten-child") fork_one_that_crashes();
  if (how == "kill-parent") {
    kill(getppid(), SIGKILL);
    for (;;) pause();
  }
  if (how == "print-1-gb") {
    const std::vector<char> block(std::size_t{1} << 20U, 'x');
    for (int i = 0; i < 1024; ++i) std::fwrite(block.data(), 1, block.size(), stdout);
  }
  if (how == "zombie") leave_zombie();
  if (how == "open-file") (void)open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (how == "open-pipe") {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
  }
  if (how == "delete-build") std::filesystem::remove_all(std::getenv("NASTY_BUILD"));
}

void behaves(plab::lab::CheckRun& run) {
  const char* const how = std::getenv("NASTY_HOW");
  misbehave(how == nullptr ? "" : how);
  run.require(true, "L99-NONE", [] { return ""; });
  run.proved("it came to its end");
}

constexpr plab::lab::CheckCase kCases[] = {{"it behaves", behaves, 1}};

}  // namespace

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  return plab::lab::run_checks(argc, argv, kCases);
}
