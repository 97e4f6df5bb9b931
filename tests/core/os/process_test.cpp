// SPDX-License-Identifier: Apache-2.0
#include "plab/os/process.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "plab/base/error.h"
#include "plab/os/pipe.h"
#include "support/gate.h"
#include "support/leak_audit.h"

using namespace plab;
using namespace std::chrono_literals;

namespace {
int wait_for_signal() {
  for (;;) ::pause();
}
}  // namespace

TEST_CASE("the end of a child is told by code or by signal, again and again", "[os][fork]") {
  const test::LeakAudit audit;
  auto good = test::run_child([] { return 7; });
  CHECK(good.wait(test::patience())->text() == "exited with code 7");
  CHECK(good.try_wait() == os::ExitStatus{7, 0, false});
  CHECK_FALSE(good.kill(SIGTERM));
  auto bad = test::run_child(&wait_for_signal);
  CHECK_FALSE(bad.try_wait());
  CHECK_FALSE(bad.wait(Deadline::after(2ms)));
  CHECK(bad.kill(SIGKILL));
  CHECK(bad.wait(test::patience())->text() == "killed by SIGKILL");
  CHECK(audit.leaks() == "");
}

TEST_CASE("without pidfd waiting and killing work as well", "[os][fork]") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    test::reset_signals();
    wait_for_signal();
  }
  auto child = os::Process::adopt(pid, os::UsePidfd::kNever);
  CHECK(child.pidfd() == -1);
  CHECK_FALSE(child.try_wait());
  CHECK_FALSE(child.wait(Deadline::after(3ms)));
  CHECK(child.kill(SIGTERM));
  CHECK(child.wait(test::patience())->text() == "killed by SIGTERM");
}

TEST_CASE("only the parent can wait for a child", "[os][fork]") {
  auto child = test::run_child(&wait_for_signal);
  CHECK(test::end_of_child([&] {
          try {
            (void)child.try_wait();
          } catch (const ContractError&) {
            return 0;
          }
          return 1;
        }) == "exited with code 0");
  child.kill(SIGKILL);
  CHECK(child.wait(test::patience()).has_value());
  CHECK_THROWS_AS((void)os::Process().try_wait(), ContractError);
}

TEST_CASE("a child that somebody else has reaped is an error", "[os][fork]") {
  auto child = test::run_child([] { return 0; });
  int status = 0;
  CHECK(::waitpid(child.pid(), &status, 0) == child.pid());
  CHECK_THROWS_AS((void)child.wait(test::patience()), SystemError);
}

TEST_CASE("liveness goes by pid and start time, and a zombie is dead", "[os][fork]") {
  const auto self = os::self_identity();
  CHECK(self.pid == ::getpid());
  CHECK(os::is_alive(self));
  CHECK_FALSE(os::is_alive(self.pid, self.start + 1));
  CHECK_FALSE(os::is_alive(0, 0));
  CHECK(os::ProcessIdentity::from_packed(self.packed()) == self);
  auto child = test::run_child(&wait_for_signal);
  const auto identity = child.identity();
  CHECK(os::is_alive(identity));
  child.kill(SIGKILL);
  CHECK(os::wait_ready(child.pidfd(), os::Ready::kReadable, test::patience()));
  CHECK(os::start_time(identity.pid).has_value());  // not reaped yet
  CHECK_FALSE(os::is_alive(identity));
  (void)child.wait(test::patience());
  CHECK_FALSE(os::is_alive(identity));
  CHECK_FALSE(os::start_time(identity.pid).has_value());
}

TEST_CASE("a process whose main thread has left while another runs is alive", "[os][fork]") {
  test::Gate gone;
  auto child = test::run_child([&]() -> int {
    std::thread([&] {
      gone.open();
      wait_for_signal();
    }).detach();
    ::syscall(SYS_exit, 0);  // this thread only
    return 1;
  });
  REQUIRE(gone.pass());
  CHECK(os::is_alive(child.identity()));
  child.kill(SIGKILL);
  CHECK(child.wait(test::patience()).has_value());
}

TEST_CASE("a spawned program gets its arguments, environment and descriptors, and no others",
          "[os][spawn]") {
  const test::LeakAudit audit;
  {
    auto pipe = os::create_pipe();
    auto other = os::create_pipe();
    os::SpawnOptions options;
    const int theirs = pipe.write.get() == 9 ? 8 : 9;  // one digit: sh knows no others
    options.argv = {"sh", "-c",
                    fmt::format("exec >&{}; echo \"$NAME $1\"; ls -l /proc/$$/fd", theirs), "sh",
                    "two words"};
    options.env = {"NAME=value", "PATH=/usr/bin:/bin"};
    // a swap among them: ours 9 may be anything, theirs is the pipe
    options.descriptors = {{pipe.write.get(), theirs}, {other.read.get(), pipe.write.get()}};
    const auto name_of = [](int fd) {
      return std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd)).string();
    };
    const std::string own = name_of(pipe.write.get());
    const std::string others = name_of(other.read.get());
    auto child = os::spawn_process("/bin/sh", options);
    pipe.write.reset();
    CHECK(test::end_of(child) == "exited with code 0");
    std::vector<std::byte> text(8000);
    const auto n = os::read_full(pipe.read.get(), text, test::patience());
    const std::string got(reinterpret_cast<const char*>(text.data()), n);
    INFO(got);
    CHECK(got.starts_with("value two words\n"));
    const auto count = [&](const std::string& what) {
      int found = 0;
      for (auto at = got.find(what); at != std::string::npos; at = got.find(what, at + 1)) ++found;
      return found;
    };
    CHECK(count(fmt::format(" {} -> {}\n", theirs, own)) == 1);
    CHECK(count(own + "\n") == 2);  // theirs, and standard output; not our ends of it
    CHECK(count(others + "\n") == 1);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("two descriptors can change places in a spawned program", "[os][spawn]") {
  auto a = os::create_pipe();
  auto b = os::create_pipe();
  os::SpawnOptions options;
  options.argv = {"sh", "-c",
                  fmt::format("echo A >&{}; echo B >&{}", b.write.get(), a.write.get())};
  options.env = os::environment();
  options.descriptors = {{a.write.get(), b.write.get()}, {b.write.get(), a.write.get()}};
  auto child = os::spawn_process("/bin/sh", options);
  CHECK(test::end_of(child) == "exited with code 0");
  std::byte got[2];
  CHECK(os::read_full(a.read.get(), got, test::patience()) == 2);
  CHECK(got[0] == std::byte{'A'});
  CHECK(os::read_full(b.read.get(), got, test::patience()) == 2);
  CHECK(got[0] == std::byte{'B'});
}

TEST_CASE("a program that cannot be started is named", "[os][spawn]") {
  os::SpawnOptions options;
  CHECK_THROWS_AS((void)os::spawn_process("/bin/sh", options), ContractError);
  options.argv = {"x"};
  try {
    (void)os::spawn_process("/no/such/program", options);
    FAIL("started");
  } catch (const SystemError& problem) {
    CHECK(std::string(problem.what()).find("/no/such/program") != std::string::npos);
    CHECK(problem.code() == ENOENT);
  }
  options.descriptors = {{0, 5}, {1, 5}};
  CHECK_THROWS_AS((void)os::spawn_process("/bin/true", options), ContractError);
}

TEST_CASE("a child whose parent is gone already gets the signal at once", "[os][fork]") {
  CHECK(test::end_of_child([] {
          const os::ProcessIdentity nobody{os::self_identity().pid, 1};
          os::signal_on_parent_death(SIGTERM, nobody);
          return 0;
        }) == "killed by SIGTERM");
}

TEST_CASE("a child is signalled when its parent dies, and a subreaper inherits it", "[os][fork]") {
  CHECK(test::end_of_child([] {
          os::become_subreaper();
          test::Gate armed;
          const test::SharedByFork<std::atomic<int>> grandchild(0);
          auto middle = test::run_child([&] {
            const auto self = os::self_identity();
            auto inner = test::run_child([&] {
              os::signal_on_parent_death(SIGUSR1, self);
              grandchild->store(::getpid());
              armed.open();
              return wait_for_signal();
            });
            return wait_for_signal();
          });
          if (!armed.pass()) return 1;
          middle.kill(SIGKILL);
          if (!middle.wait(test::patience())) return 2;
          auto inherited = os::Process::adopt(grandchild->load());
          const auto status = inherited.wait(test::patience());
          return status && status->signal == SIGUSR1 ? 0 : 3;
        }) == "exited with code 0");
}

TEST_CASE("reap_any takes what has ended and nothing else", "[os][fork]") {
  CHECK(test::end_of_child([] {
          if (os::reap_any()) return 1;
          const pid_t pid = ::fork();
          if (pid == 0) ::_exit(5);
          for (;;) {
            const auto reaped = os::reap_any();
            if (!reaped) continue;
            return reaped->first == pid && reaped->second.code == 5 && !os::reap_any() ? 0 : 2;
          }
        }) == "exited with code 0");
}
