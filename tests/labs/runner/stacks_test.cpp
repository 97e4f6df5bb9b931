// SPDX-License-Identifier: Apache-2.0
#include "stacks.h"

#include <catch2/catch_test_macros.hpp>

#include "plab/os/temp.h"
#include "supervise.h"

namespace plab::lab {
namespace {

TEST_CASE("what addr2line prints is taken apart, inlined calls too", "[lab][stack]") {
  const auto all = read_addr2line(
      "0x0000000000001139\n"
      "inner(int)\n/p/labs/01_x/lab.cpp:3\n"
      "outer(int)\n/p/labs/01_x/lab.cpp:9 (discriminator 2)\n"
      "0x0000000000002000\n??\n??:0\n"
      "0x0000000000003000\nknown\n??:?\n");
  REQUIRE(all.size() == 3);
  REQUIRE(all[0].size() == 2);
  CHECK(all[0][0].function == "inner(int)");
  CHECK(all[0][1].file == "/p/labs/01_x/lab.cpp");
  CHECK(all[0][1].line == 9);
  CHECK(all[1][0].function == "?");
  CHECK(all[1][0].file.empty());
  CHECK(all[2][0].function == "known");
  CHECK(read_addr2line("").empty());
  CHECK(read_addr2line("addr2line: 'x': No such file\n").empty());
}

TEST_CASE("of a stack the call in lab.cpp is named, else the innermost one that is known",
          "[lab][stack]") {
  const Call wait{"syscall", "", 0};
  const Call core{"plab::os::Futex::wait(int)", "/p/core/plab/os/futex.cpp", 5};
  const Call own{"lab01::run_workers(int, lab01::Job const&)", "/p/labs/01_x/lab.cpp", 24};
  CHECK(place_of({1, 1, 0, {wait, core, own}}) == "lab01::run_workers at labs/01_x/lab.cpp:24");
  CHECK(place_of({1, 1, 0, {wait, core}}) ==
        "plab::os::Futex::wait at /p/core/plab/os/futex.cpp:5");
  CHECK(place_of({1, 1, 0, {wait}}) == "syscall");
  CHECK(place_of({1, 1, 0, {{"void (anonymous namespace)::f<int>(int)", "", 0}}}) == "f");
  CHECK(place_of({1, 1, 0, {}}).empty());
  CHECK(text_of({{1, 2, 0, {}}}) == "process 1 thread 2: did not answer\n\n");
}

TEST_CASE("a program that hangs is asked where each of its threads is", "[lab][stack]") {
  const os::TempFolder folder;
  const RunEnd end = run_supervised({.argv = {PLAB_NASTY_PROGRAM, "busy-and-asleep"},
                                     .environment = {},
                                     .folder = folder.path() / "waits",
                                     .limits = {.quiet = 60, .compute = 0.5, .total = 600}});
  REQUIRE(end.how == RunEnd::How::kStuck);
  REQUIRE(end.stacks.size() == 3);  // two threads, and a process that it has forked
  std::string all;
  for (const ThreadStack& stack : end.stacks) all += place_of(stack) + "\n";
  INFO(all << text_of(end.stacks));
  CHECK(all.find("spin_for_ever at ") != std::string::npos);
  CHECK(all.find("sleep_for_ever at ") != std::string::npos);
  CHECK(all.find("nasty_program.cpp:") != std::string::npos);
  CHECK(all.find("wait_in_a_child at ") != std::string::npos);
}

TEST_CASE("a proved deadlock comes with the stacks too", "[lab][stack]") {
  const os::TempFolder folder;
  const RunEnd end = run_supervised({.argv = {PLAB_NASTY_PROGRAM, "deadlock"},
                                     .environment = {},
                                     .folder = folder.path() / "waits"});
  REQUIRE(end.how == RunEnd::How::kDeadlock);
  REQUIRE(!end.stacks.empty());  // a sanitizer has a thread of its own
  CHECK(text_of(end.stacks).find("main at ") != std::string::npos);
}

}  // namespace
}  // namespace plab::lab
