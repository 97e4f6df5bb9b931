// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/watcher.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <csignal>
#include <thread>

#include "core/mp/watched.h"
#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/os/temp.h"
#include "support/gate.h"

using namespace plab;
using namespace std::chrono_literals;
using test::reap;
using test::Watched;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Case {
  std::string program;
  std::string code;
  std::size_t processes;              ///< in the knot
  std::vector<std::string> mentions;  ///< in the text
};

}  // namespace

TEST_CASE("each kind of deadlock gets its verdict, with processes and lines", "[mp][watch]") {
  const auto one = GENERATE(
      Case{"two-locks",
           "cycle-locks",
           2,
           {"rank 0, process", "rank 1, process", "lock_ring", "held by"}},
      Case{"three-locks", "cycle-locks", 3, {"rank 2, process", "3 threads"}},
      Case{"two-threads", "cycle-locks", 1, {" thread ", "two_threads"}},
      Case{"join-before-get", "cycle-join-full-queue", 2, {"queue.put", "joins process"}},
      Case{"join-before-get-feeder", "cycle-join-full-queue", 2, {"queue.put", "joins process"}},
      Case{"full-queues", "cycle-full-queues", 3, {"left, process", "right, process", "queue.put"}},
      Case{"fork-copies-a-lock", "orphan-fork", 1, {"child, process", "fork copied the lock"}},
      Case{"own-queue", "orphan-no-writer", 1, {"read_own_queue", "queue.get"}},
      Case{"killed-writer", "orphan-no-writer", 1, {"writer_was_killed"}},
      Case{"event", "cycle-join", 2, {"event_is_never_set"}});
  INFO(one.program);
  {
    Watched watched({one.program});
    const auto verdict = watched.verdict();
    REQUIRE(verdict.has_value());
    const std::string text = verdict->text();
    INFO(text);
    CHECK(verdict->code == one.code);
    CHECK(verdict->pids().size() == one.processes);
    CHECK(std::ranges::count(text, '\n') <= 12);
    CHECK(has(text, "watch_program.cpp:"));
    for (const int pid : verdict->pids()) CHECK(has(text, std::to_string(pid)));
    for (const auto& part : one.mentions) {
      INFO(part);
      CHECK(has(text, part));
    }
    CHECK_FALSE(verdict->rule().empty());
    CHECK(has(verdict->svg(), "</svg>"));
    CHECK(watched.program().try_wait() == std::nullopt);  // it was alive when it was judged
  }
  reap();
}

TEST_CASE("processes that wait for each other's messages are a knot with who joins them",
          "[mp][watch]") {
  const std::string program = GENERATE("empty-queues", "both-receive");
  {
    Watched watched({program});
    const auto verdict = watched.verdict();
    REQUIRE(verdict.has_value());
    INFO(verdict->text());
    // Their parent could write, too, if it did not join them.
    CHECK(verdict->pids().size() == 3);
    CHECK(verdict->code ==
          (program == "both-receive" ? "cycle-connections" : "cycle-empty-queues"));
  }
  reap();
}

TEST_CASE("a healthy program gets no verdict, however long its waits are", "[mp][watch]") {
  CHECK(test::run_healthy(0, 40) == "");
}

// Those that waited for the lock of the job's log asked the registry who holds it, whose own lock
// they had.
TEST_CASE("a wait inside plab's own books is written down without waiting for them",
          "[mp][watch]") {
  Watched watched({"spawn-many"});
  const auto verdict = watched.verdict();
  INFO((verdict ? verdict->text() : ""));
  CHECK_FALSE(verdict.has_value());
  const auto status = watched.program().wait(test::patience());
  REQUIRE(status.has_value());
  CHECK(status->success());
}

TEST_CASE("a stuck program that is killed is no verdict, and its table is read without it",
          "[mp][watch]") {
  Watched watched({"event"});
  const Deadline patience = test::patience();
  while (watched.watcher().waits().size() < 2 && !patience.expired()) {
    std::this_thread::sleep_for(1ms);
  }
  REQUIRE(watched.watcher().waits().size() == 2);
  ::kill(-watched.program().pid(), SIGKILL);
  (void)watched.program().wait(test::patience());
  reap();
  CHECK(watched.watcher().waits().empty());
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(watched.watcher().look().has_value());
    std::this_thread::sleep_for(15ms);
  }
}

TEST_CASE("PLAB_WATCH=1 explains a deadlock and ends the program with code 3", "[mp][watch]") {
  const os::TempFolder folder;
  const std::string picture = (folder.path() / "wait.svg").string();
  std::vector<std::string> environment = os::environment();
  environment.push_back("PLAB_WATCH=1");
  environment.push_back("PLAB_WATCH_SVG=" + picture);
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), PLAB_WATCH_PROGRAM);
    os::Process program = os::spawn_process(
        arguments[0],
        {.argv = arguments, .env = environment, .descriptors = {}, .new_group = os::NewGroup::kNo});
    const auto status = program.wait(test::patience());
    REQUIRE(status.has_value());
    return *status;
  };
  os::become_subreaper();
  CHECK(run({"two-locks"}).code == 3);
  CHECK(os::child_pids().empty());  // nothing of it is left
  CHECK(std::filesystem::file_size(picture) > 500);
  CHECK(run({"healthy", "3"}).code == 0);
  CHECK(run({"no-such-name"}).code == 2);
  reap();
}
