// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/spawn.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <set>
#include <string>

#include "plab/mp/simple_queue.h"
#include "plab/mp/sync.h"
#include "plab/os/process.h"

using namespace plab;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using mp::StartMethod;

namespace {

const Deadline kNever = Deadline::never();
#define EACH_START_METHOD \
  GENERATE(StartMethod::kFork, StartMethod::kSpawn, StartMethod::kForkServer)

mp::SpawnOptions by(StartMethod method) { return {.start_method = method}; }

void write_rank(int rank, Tensor out, const std::string& text) {
  out.select(0, rank).fill_(rank * 10.0 + static_cast<double>(text.size()));
}
void fail_at(int rank, int which, mp::Event never) {
  if (rank == which) throw ShapeError("rank " + std::to_string(rank) + " fails");
  (void)never.wait(Deadline::never());
}
void exit_at(int rank, int which, int code, mp::Event never) {
  if (rank == which) mp::exit_process(code);
  (void)never.wait(Deadline::never());
}
void kill_at(int rank, int which, int signal, mp::Event never) {
  if (rank == which) std::raise(signal);
  (void)never.wait(Deadline::never());
}
void all_fail(int rank, mp::Barrier barrier) {
  (void)barrier.wait(Deadline::never());
  throw std::runtime_error("rank " + std::to_string(rank));
}
void good_then_bad(int rank, mp::Event first_done) {
  if (rank == 0) return first_done.set();
  (void)first_done.wait(Deadline::never());
  throw std::runtime_error("later");
}
void ignore_term(int rank, mp::Barrier ready, mp::Event never) {
  std::signal(SIGTERM, SIG_IGN);
  (void)ready.wait(Deadline::never());
  if (rank == 0) throw std::runtime_error("first");
  (void)never.wait(Deadline::never());
}
void finish_in_grace(int rank, mp::Event failed, mp::SimpleQueue<int> done) {
  if (rank == 0) {
    failed.set();
    throw std::runtime_error("first");
  }
  (void)failed.wait(Deadline::never());
  done.put(rank, Deadline::never());
}
void end_at_once(int /*rank*/) {}
void wait_for(int /*rank*/, mp::Event event) { (void)event.wait(Deadline::never()); }
void wait_for_interrupt(int /*rank*/, mp::Barrier barrier) {
  (void)barrier.wait(Deadline::never());
  std::raise(SIGINT);
}
void throw_long(int /*rank*/) { throw std::runtime_error(std::string(std::size_t{1} << 20U, 'x')); }

}  // namespace

TEST_CASE("spawn calls the function with each rank and waits for all", "[mp][spawn]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  const Tensor out = Tensor::zeros({3, 2});
  out.share_memory();
  mp::spawn(write_rank, std::tuple(out, "four"), 3, by(method));
  CHECK(out.to_vector<float>() == std::vector<float>{4, 4, 14, 14, 24, 24});
  mp::spawn([](int) {}, std::tuple(), 0);  // none: nothing to wait for
  CHECK_THROWS_AS(mp::spawn([](int) {}, std::tuple(), -1), ContractError);
}

TEST_CASE("the exception of a child is thrown in its parent, whatever its rank", "[mp][spawn]") {
  const auto method = EACH_START_METHOD;
  const int which = GENERATE(0, 2);
  CAPTURE(mp::name_of(method), which);
  mp::Event never;
  try {
    mp::spawn(fail_at, std::tuple(which, never), 3, by(method));
    FAIL("nothing was thrown");
  } catch (const mp::ProcessRaised& error) {
    CHECK(error.rank() == which);
    CHECK(error.pid() > 0);
    CHECK(error.exit_code() == 1);
    CHECK(error.type() == "plab::ShapeError");
    CHECK(error.message() == "rank " + std::to_string(which) + " fails");
    CHECK_THAT(error.what(), StartsWith("\n\n-- Process " + std::to_string(which) +
                                        " terminated with the following error:\n"));
    std::string stack;
    for (const auto& frame : error.stack()) stack += frame + '\n';
    CHECK(stack.size() > 10);
  }
}

TEST_CASE("an exit code and a signal are named", "[mp][spawn]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  mp::Event never;
  CHECK_THROWS_WITH(mp::spawn(exit_at, std::tuple(1, 23, never), 2, by(method)),
                    "process 1 terminated with exit code 23");
  CHECK_THROWS_WITH(mp::spawn(kill_at, std::tuple(0, SIGABRT, never), 2, by(method)),
                    "process 0 terminated with signal SIGABRT");
  try {
    mp::spawn(kill_at, std::tuple(0, SIGKILL, never), 2, by(method));
    FAIL("nothing was thrown");
  } catch (const mp::ProcessExited& error) {
    CHECK(error.exit_code() == -SIGKILL);
    CHECK(error.signal_name() == "SIGKILL");
  }
}

TEST_CASE("when all fail, one of them is reported", "[mp][spawn]") {
  mp::Barrier barrier(2);
  try {
    mp::spawn(all_fail, std::tuple(barrier), 2, by(EACH_START_METHOD));
    FAIL("nothing was thrown");
  } catch (const mp::ProcessRaised& error) {
    CHECK(error.message() == "rank " + std::to_string(error.rank()));
  }
}

TEST_CASE("one that ended well does not hide a later failure", "[mp][spawn]") {
  mp::Event first_done;
  CHECK_THROWS_AS(mp::spawn(good_then_bad, std::tuple(first_done), 2, by(EACH_START_METHOD)),
                  mp::ProcessRaised);
}

TEST_CASE("one that ignores SIGTERM is killed", "[mp][spawn]") {
  mp::Barrier ready(2);
  mp::Event never;
  auto options = by(EACH_START_METHOD);
  options.kill_after = 20ms;
  auto context = mp::start_processes(ignore_term, std::tuple(ready, never), 2, options);
  CHECK_THROWS_AS(context.join(kNever), mp::ProcessRaised);
  CHECK(context.processes()[1].exitcode() == -SIGKILL);
}

TEST_CASE("the others may end by themselves within the grace", "[mp][spawn]") {
  mp::Event failed;
  mp::SimpleQueue<int> done;
  auto options = by(EACH_START_METHOD);
  options.grace = 60s;
  CHECK_THROWS_AS(mp::spawn(finish_in_grace, std::tuple(failed, done), 3, options),
                  mp::ProcessRaised);
  const std::set<int> ranks{done.try_get().value(), done.try_get().value()};
  CHECK(ranks == std::set<int>{1, 2});
}

TEST_CASE("join with a deadline is false until all have ended, and true ever after",
          "[mp][spawn]") {
  mp::Event event;
  auto context = mp::start_processes(wait_for, std::tuple(event), 2, by(EACH_START_METHOD));
  CHECK(context.pids().size() == 2);
  CHECK_FALSE(context.join(Deadline::passed()));
  CHECK_FALSE(context.join(Deadline::after(5ms)));
  event.set();
  CHECK(context.join(kNever));
  CHECK(context.join(Deadline::passed()));
}

// A process that ended between two looks of join was once counted as running with nothing to wait
// on, and join slept for ever.
TEST_CASE("join returns whenever its processes end, also while it looks at them", "[mp][spawn]") {
  for (int i = 0; i < 300; ++i) {
    mp::SpawnContext context =
        mp::start_processes(end_at_once, std::tuple(), 1 + i % 3, by(StartMethod::kFork));
    REQUIRE(context.join(kNever));
  }
}

TEST_CASE("Ctrl-C in a child counts as a good end", "[mp][spawn]") {
  mp::Barrier barrier(2);
  mp::spawn(wait_for_interrupt, std::tuple(barrier), 2, by(EACH_START_METHOD));
  SUCCEED();
}

TEST_CASE("an error of a megabyte arrives whole through spawn", "[mp][spawn]") {
  try {
    mp::spawn(throw_long, std::tuple(), 1, by(EACH_START_METHOD));
    FAIL("nothing was thrown");
  } catch (const mp::ProcessRaised& error) {
    CHECK(error.message().size() == std::size_t{1} << 20U);
  }
}

TEST_CASE("a context that goes ends its processes", "[mp][spawn]") {
  mp::Event never;
  std::vector<os::ProcessIdentity> who;
  {
    auto context =
        mp::start_processes(wait_for, std::tuple(never), 2, {.daemon = mp::Daemon::kYes});
    for (const int pid : context.pids()) who.push_back({pid, os::start_time(pid).value()});
  }
  for (const auto& one : who) CHECK_FALSE(os::is_alive(one));
}
