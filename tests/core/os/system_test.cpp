// SPDX-License-Identifier: Apache-2.0
// signals.h, proc.h, file.h and temp.h
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/pipe.h"
#include "plab/os/proc.h"
#include "plab/os/signals.h"
#include "plab/os/temp.h"
#include "support/gate.h"
#include "support/leak_audit.h"

using namespace plab;

TEST_CASE("signals have names", "[os]") {
  CHECK(os::signal_name(SIGKILL) == "SIGKILL");
  CHECK(os::signal_name(SIGRTMIN + 2) == "SIGRTMIN+2");
  CHECK(os::signal_name(4711) == "signal 4711");
}

TEST_CASE("a blocked signal arrives when the block ends", "[os][fork]") {
  CHECK(test::end_of_child([] {
          {
            const os::SignalBlock block({SIGTERM});
            ::raise(SIGTERM);
          }
          return 0;
        }) == "killed by SIGTERM");
}

TEST_CASE("Ctrl-C sets the flag and wakes poll; the second one ends the process", "[os][fork]") {
  CHECK(test::end_of_child([] {
          const os::InterruptFlag flag;
          if (flag.raised() ||
              os::wait_ready(flag.fd(), os::Ready::kReadable, Deadline::passed())) {
            return 1;
          }
          ::raise(SIGINT);
          if (flag.raised() != SIGINT) return 2;
          if (!os::wait_ready(flag.fd(), os::Ready::kReadable, test::patience())) return 3;
          ::raise(SIGINT);
          return 4;
        }) == "killed by SIGINT");
}

TEST_CASE("the flag is one per process, can be cleared, and a forked child has none",
          "[os][fork]") {
  const test::LeakAudit audit;
  {
    os::InterruptFlag flag;
    CHECK_THROWS_AS(os::InterruptFlag(), ContractError);
    CHECK(test::end_of_child([] {
            ::raise(SIGTERM);
            return 0;
          }) == "killed by SIGTERM");
    CHECK(test::end_of_child([] {
            const os::InterruptFlag own;
            ::raise(SIGTERM);
            return own.raised() == SIGTERM ? 0 : 1;
          }) == "exited with code 0");
    ::raise(SIGTERM);
    CHECK(flag.raised() == SIGTERM);
    flag.clear();
    CHECK_FALSE(flag.raised());
  }
  CHECK_NOTHROW(os::InterruptFlag());
  CHECK(audit.leaks() == "");
}

TEST_CASE("open descriptors are listed with what they are", "[os]") {
  const auto pipe = os::create_pipe();
  bool found = false;
  for (const auto& [fd, target] : os::open_descriptors()) {
    CHECK(os::is_open(fd));
    if (fd == pipe.read.get()) found = target.starts_with("pipe:[");
  }
  CHECK(found);
}

TEST_CASE("usable cores follow the affinity", "[os][fork]") {
  CHECK(os::usable_cores() >= 1);
  CHECK(os::online_cores() >= os::usable_cores());
  CHECK(test::end_of_child([] {
          cpu_set_t all;
          CPU_ZERO(&all);
          ::sched_getaffinity(0, sizeof(all), &all);
          for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (!CPU_ISSET(core, &all)) continue;
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            ::sched_setaffinity(0, sizeof(one), &one);
            return os::usable_cores() == 1 ? 0 : 1;
          }
          return 2;
        }) == "exited with code 0");
}

TEST_CASE("memory and /dev/shm have plausible sizes", "[os]") {
  const auto memory = os::memory();
  CHECK(memory.total > (1U << 20U));
  CHECK(memory.available > 0);
  CHECK(memory.available <= memory.total);
  CHECK(memory.usable() <= memory.available);
  if (const auto space = os::dev_shm_space()) CHECK(space->free <= space->size);
}

TEST_CASE("children are listed until they are reaped", "[os][fork]") {
  auto child = test::run_child([] { return 0; });
  const auto has = [&] {
    const auto pids = os::child_pids();
    return std::ranges::find(pids, child.pid()) != pids.end();
  };
  CHECK(has());
  (void)child.wait(test::patience());
  CHECK_FALSE(has());
}

TEST_CASE("a file is replaced whole, and its folder holds nothing else after", "[os]") {
  const os::TempFolder folder;
  const auto path = folder.path() / "an odd name, ä";
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i);
  os::write_file(path, "old");
  os::write_file(path, text);
  CHECK(os::read_file(path) == text);
  CHECK_THROWS_AS((void)os::read_file(path, 100), ResourceError);
  os::write_file(path, "");
  CHECK(os::read_file(path).empty());
  CHECK(os::list_folder(folder.path(), "").size() == 1);
  CHECK_FALSE(os::read_file("/proc/self/stat").empty());
}

TEST_CASE("files that cannot be read or written are named, and nothing stays behind", "[os]") {
  const os::TempFolder folder;
  CHECK_THROWS_AS((void)os::read_file(folder.path() / "none"), SystemError);
  CHECK_THROWS_AS((void)os::read_file(folder.path()), SystemError);
  CHECK_THROWS_AS(os::write_file(folder.path() / "no/such", "x"), SystemError);
  std::filesystem::create_directory(folder.path() / "taken");
  CHECK_THROWS_AS(os::write_file(folder.path() / "taken", "x"), SystemError);
  CHECK(os::list_folder(folder.path(), "").size() == 1);
}

TEST_CASE("a temporary folder goes with its maker, not with a forked child", "[os][fork]") {
  std::filesystem::path path;
  {
    os::TempFolder folder("plab-test-");
    path = folder.path();
    std::ofstream(path / "file") << "x";
    CHECK(test::end_of_child([&] {
            folder.reset();
            return std::filesystem::exists(path / "file") ? 0 : 1;
          }) == "exited with code 0");
    os::TempFolder moved(std::move(folder));
    CHECK(std::filesystem::exists(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}
