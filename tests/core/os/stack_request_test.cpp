// SPDX-License-Identifier: Apache-2.0
#include "plab/os/stack_request.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "plab/os/process.h"
#include "plab/os/signals.h"
#include "plab/os/temp.h"
#include "support/gate.h"

namespace plab::os {
namespace {

// Not static: the dynamic linker then knows its name.
[[gnu::noinline]] void plab_test_waits_here(test::Gate& here) {
  here.open();
  for (;;) ::pause();
}

bool names(const StackAnswer& answer, const std::string& part) {
  return std::ranges::any_of(answer.calls, [&](const StackAddress& call) {
    return call.symbol.find(part) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("every thread of a process says where it is, and goes on", "[os][stack]") {
  const TempFolder folder;
  test::Gate first;
  test::Gate second;
  Process child = test::run_child([&]() -> int {
    answer_stack_requests(folder.path());
    std::jthread other([&] { plab_test_waits_here(second); });
    plab_test_waits_here(first);
    return 0;
  });
  REQUIRE(first.pass());
  REQUIRE(second.pass());
  for (int round = 0; round < 2; ++round) {
    const auto answers = ask_for_stacks(child.pid(), folder.path(), test::patience());
    REQUIRE(answers.size() == 2);
    for (const StackAnswer& answer : answers) {
      CHECK(answer.pid == child.pid());
      REQUIRE(answer.calls.size() > 2);
      CHECK(std::ranges::any_of(answer.calls,
                                [](const StackAddress& call) { return call.offset != 0; }));
    }
    CHECK(names(answers[0], "run_child"));
    CHECK_FALSE(child.try_wait().has_value());
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  child.kill(SIGKILL);
  CHECK(test::end_of(child) == "killed by SIGKILL");
}

TEST_CASE("a process that does not answer is not ended by being asked", "[os][stack]") {
  const TempFolder folder;
  test::Gate here;
  Process child = test::run_child([&]() -> int {
    plab_test_waits_here(here);
    return 0;
  });
  REQUIRE(here.pass());
  const auto answers = ask_for_stacks(child.pid(), folder.path(), test::patience());
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].calls.empty());
  CHECK_FALSE(child.try_wait().has_value());
  child.kill(SIGKILL);
  CHECK(test::end_of(child) == "killed by SIGKILL");
  CHECK(ask_for_stacks(child.pid(), folder.path(), test::patience()).empty());
}

TEST_CASE("a fault leaves its calls behind and ends the process as ever", "[os][stack]") {
  const TempFolder folder;
  CHECK(read_faults(folder.path()).empty());
  for (const int fault : {SIGSEGV, SIGABRT}) {
    CHECK(test::end_of_child([&]() -> int {
            answer_stack_requests(folder.path());
            ::raise(fault);
            return 0;
          }) == "killed by " + signal_name(fault));
  }
  const auto faults = read_faults(folder.path());
  REQUIRE(faults.size() == 2);
  for (const StackAnswer& answer : faults) {
    CHECK((answer.signal == SIGSEGV || answer.signal == SIGABRT));
    CHECK(names(answer, "run_child"));
  }
}

TEST_CASE("a program's own handler for a fault is left to it", "[os][stack]") {
  const TempFolder folder;
  CHECK(test::end_of_child([&]() -> int {
          struct sigaction own {};
          own.sa_handler = [](int) { ::_exit(7); };
          ::sigaction(SIGSEGV, &own, nullptr);
          answer_stack_requests(folder.path());
          ::raise(SIGSEGV);
          return 0;
        }) == "exited with code 7");
  CHECK(read_faults(folder.path()).empty());
}

}  // namespace plab::os
