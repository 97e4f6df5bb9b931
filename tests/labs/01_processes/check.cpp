// SPDX-License-Identifier: Apache-2.0
// The check of lab 01: what run_workers and failures must bring about, with processes that really
// end in every way.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "01_processes/lab.hpp"
#include "plab/mp/context.h"
#include "plab/mp/init.h"
#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/os/signals.h"
#include "support/check.h"

namespace lab01 {

using namespace plab;

void work(int rank, Job job) {
  job.hellos.put({rank, os::self_identity().pid}, Deadline::never());
  (void)job.all_here.wait(Deadline::never());
  job.all_here.leave();  // how it ends is no accident
  // The last rank takes its time: who does not wait for it does not know how it ended.
  if (rank + 1 == static_cast<int>(job.endings.size())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  const int how = job.endings[static_cast<std::size_t>(rank)];
  if (how < 0) static_cast<void>(std::raise(-how));
  mp::exit_process(how);
}

namespace {

using lab::CheckRun;

struct Round {
  Job job;
  std::vector<Ending> endings;
  std::map<int, int> pids;  // by rank, as the workers said
};

std::vector<int> random_endings(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  constexpr std::array kSignals{SIGKILL, SIGTERM, SIGUSR1, SIGABRT};
  std::vector<int> endings;
  for (int rank = 0; rank < count; ++rank) {
    const auto kind = random() % 3;
    if (kind == 0) endings.push_back(0);
    if (kind == 1) endings.push_back(static_cast<int>(1 + random() % 120));
    if (kind == 2) endings.push_back(-kSignals[random() % kSignals.size()]);
  }
  endings.back() = static_cast<int>(1 + random() % 120);
  return endings;
}

Round run(int count, std::vector<int> endings) {
  Round round;
  round.job.all_here = mp::Barrier(static_cast<std::uint32_t>(count));
  round.job.endings = std::move(endings);
  round.endings = run_workers(count, round.job);
  while (const auto hello = round.job.hellos.try_get()) round.pids[hello->rank] = hello->pid;
  return round;
}

void check_processes(CheckRun& check, const Round& round, int count) {
  std::set<int> pids;
  for (const auto& [rank, pid] : round.pids) pids.insert(pid);
  check.require(round.pids.size() == static_cast<std::size_t>(count), "L01-NOT-STARTED",
                [&] { return fmt::format("{} of {} ranks ran", round.pids.size(), count); });
  check.require(pids.size() == static_cast<std::size_t>(count), "L01-NOT-A-PROCESS",
                [&] { return fmt::format("{} ranks ran in {} processes", count, pids.size()); });
  check.require(!pids.contains(os::self_identity().pid), "L01-NOT-A-PROCESS", [&] {
    return fmt::format("a rank ran in process {}, which called run_workers",
                       os::self_identity().pid);
  });
}

void check_endings(CheckRun& check, const Round& round, int count) {
  check.require(round.endings.size() == static_cast<std::size_t>(count), "L01-NOT-JOINED", [&] {
    return fmt::format("{} endings for {} ranks", round.endings.size(), count);
  });
  for (int rank = 0; rank < count; ++rank) {
    const Ending& ending = round.endings[static_cast<std::size_t>(rank)];
    const int how = round.job.endings[static_cast<std::size_t>(rank)];
    check.require(ending.rank == rank && ending.pid == round.pids.at(rank), "L01-MIXED-UP", [&] {
      return fmt::format("place {} of the result: rank {} with pid {}; that rank ran in pid {}",
                         rank, ending.rank, ending.pid, round.pids.at(rank));
    });
    if (how < 0) {
      check.require(ending.signal == os::signal_name(-how), "L01-SIGNAL-LOST", [&] {
        return fmt::format("rank {} (pid {}) was ended by {}; the result says \"{}\", exit code {}",
                           rank, ending.pid, os::signal_name(-how), ending.signal,
                           ending.exit_code);
      });
    } else {
      check.require(ending.signal.empty() && ending.exit_code == how, "L01-NOT-JOINED", [&] {
        return fmt::format(
            "rank {} (pid {}) exited with {}; the result says signal \"{}\", exit code {}", rank,
            ending.pid, how, ending.signal, ending.exit_code);
      });
    }
  }
}

void all_run_at_once(CheckRun& check) {
  const int count = 3 + static_cast<int>(check.seed() % 4);
  const Round round = run(count, random_endings(check.seed(), count));
  check_processes(check, round, count);
  check_endings(check, round, count);
  std::vector<int> left;
  for (const int pid : os::child_pids()) {
    const auto is_it = [&](const auto& worker) { return worker.second == pid; };
    if (std::ranges::any_of(round.pids, is_it)) left.push_back(pid);
  }
  check.require(left.empty(), "L01-ZOMBIE", [&] {
    return fmt::format("run_workers has returned, and these are still children of process {}: {}",
                       os::self_identity().pid, fmt::join(left, ", "));
  });
  check.proved(fmt::format("{} workers ran at the same time, each in a process of its own", count));
  check.proved(
      fmt::format("all {} were waited for, and each ending is right: {} by exit, {} by signal",
                  count, std::ranges::count_if(round.job.endings, [](int e) { return e >= 0; }),
                  std::ranges::count_if(round.job.endings, [](int e) { return e < 0; })));
}

void failures_are_named(CheckRun& check) {
  const int base = static_cast<int>(check.seed() % 50);
  const std::vector<Ending> endings{{0, 100, 0, ""},
                                    {1, 101, 3 + base, ""},
                                    {2, 102, 0, "SIGKILL"},
                                    {3, 103, 0, ""},
                                    {4, 104, -11, "SIGSEGV"}};
  const std::vector<std::string> expected{fmt::format("rank 1: exit code {}", 3 + base),
                                          "rank 2: SIGKILL", "rank 4: SIGSEGV"};
  const auto lines = failures(endings);
  const bool signals = std::ranges::find(lines, "rank 2: SIGKILL") != lines.end();
  check.require(signals, "L01-SIGNAL-LOST", [&] {
    return fmt::format("rank 2 was ended by SIGKILL; failures() gives {}", lines);
  });
  check.require(lines == expected, "L01-FAILURES", [&] {
    return fmt::format("failures() gives {}, expected is {}", lines, expected);
  });
  check.require(failures({{0, 1, 0, ""}, {1, 2, 0, ""}}).empty(), "L01-FAILURES",
                [] { return std::string("two workers that ended well are called failures"); });
  check.proved("every failed rank is named, by exit code or by signal, and no other");
}

}  // namespace
}  // namespace lab01

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"all workers run at the same time and are waited for",
                           lab01::all_run_at_once, 10},
      plab::lab::CheckCase{"the failed ones are named", lab01::failures_are_named, 3}};
  return plab::lab::run_checks(argc, argv, kCases);
}
