// SPDX-License-Identifier: Apache-2.0
#include "supervise.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include "plab/os/mapping.h"
#include "plab/os/proc.h"
#include "plab/os/temp.h"
#include "plab/shm/block.h"

namespace plab::lab {
namespace {

// Far beyond what any of them needs, on a machine that is busy too.
constexpr Limits kLong = Limits::of(60);

RunEnd run(const std::string& how, const Limits& limits = kLong) {
  const os::TempFolder folder;
  RunEnd end = run_supervised({.argv = {PLAB_NASTY_PROGRAM, how},
                               .environment = {},
                               .folder = folder.path() / "waits",
                               .limits = limits});
  CHECK(os::child_pids().empty());  // whatever it did, nothing of it is left
  return end;
}

using How = RunEnd::How;

TEST_CASE("a program that ends is what it is", "[lab][supervise]") {
  const RunEnd good = run("");
  CHECK(good.how == How::kEnded);
  CHECK(good.status.success());
  CHECK(good.output == "the end\n");
  CHECK(good.left.empty());
  CHECK(run("exit-9").status.code == 9);
  CHECK(run("segv").status.signal == SIGSEGV);
}

TEST_CASE("a loop without end is stuck, and computes; a deadlock is proved", "[lab][supervise]") {
  const RunEnd busy = run("busy", {.quiet = 60, .compute = 0.5, .total = 600});
  CHECK(busy.how == How::kStuck);
  CHECK(busy.cpu_seconds > 0.05);
  CHECK_FALSE(busy.verdict.has_value());
  const RunEnd stuck = run("deadlock");
  CHECK(stuck.how == How::kDeadlock);
  REQUIRE(stuck.verdict.has_value());
  CHECK(stuck.verdict->code == "orphan-no-writer");
}

TEST_CASE("a program that gets somewhere is slow; one in which nothing happens is stuck",
          "[lab][supervise]") {
  const RunEnd slow = run("print-slowly", {.quiet = 60, .compute = 60, .total = 0.5});
  CHECK(slow.how == How::kSlow);
  CHECK_FALSE(slow.processes.empty());
  const RunEnd asleep = run("sleep", {.quiet = 0.5, .compute = 60, .total = 600});
  CHECK(asleep.how == How::kStuck);
}

TEST_CASE("children that are left behind are counted and ended", "[lab][supervise]") {
  const RunEnd end = run("fork-50");
  CHECK(end.how == How::kEnded);
  CHECK(end.left.size() == 50);
  CHECK(end.left.front().find("nasty_program") != std::string::npos);
}

TEST_CASE("a program that kills its parent is ended, and the tool lives", "[lab][supervise]") {
  const RunEnd end = run("kill-parent");
  CHECK(end.how == How::kEnded);
  CHECK(end.status.signal == SIGKILL);
  CHECK(end.left.size() == 1);
}

TEST_CASE("a gigabyte of output is read, and its beginning and end are kept", "[lab][supervise]") {
  const RunEnd end = run("print-1-gb");
  CHECK(end.status.success());
  CHECK(end.output_bytes > std::uint64_t{1} << 30U);
  CHECK(end.output.size() < 100'000);
  CHECK(end.output.ends_with("xthe end\n"));
}

TEST_CASE("a segment that is left behind is named and removed", "[lab][supervise]") {
  const RunEnd end = run("segment");
  REQUIRE(end.left.size() == 1);
  CHECK(end.left.front() == "/dev/shm/nasty_program_left_this (4096 bytes)");
  CHECK_FALSE(std::filesystem::exists("/dev/shm/nasty_program_left_this"));
}

TEST_CASE("what other programs have in /dev/shm is left alone", "[lab][supervise]") {
  const std::string ours = "/dev/shm/supervise_test_has_this";
  std::optional<os::Mapping> mapping;
  shm::Block named;
  const os::TempFolder folder;
  // Both come into being while the program runs.
  std::jthread other([&] {
    while (!std::filesystem::exists(folder.path() / "waits" / "waits")) std::this_thread::yield();
    mapping = os::Mapping::file(ours, Bytes{4096}, os::Mapping::File::kCreate);
    named = shm::Block::allocate_named(Bytes{4096});
  });
  const RunEnd end = run_supervised({.argv = {PLAB_NASTY_PROGRAM, "busy"},
                                     .environment = {},
                                     .folder = folder.path() / "waits",
                                     .limits = {.quiet = 60, .compute = 0.5, .total = 60}});
  other.join();
  CHECK(std::filesystem::remove(ours));
  CHECK(std::filesystem::exists("/dev/shm" + named.name()));
  CHECK(end.left.empty());
}

}  // namespace
}  // namespace plab::lab
