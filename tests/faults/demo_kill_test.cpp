// SPDX-License-Identifier: Apache-2.0
// 200 kill -9 at random moments, of the demo itself or of a process of it, over the start methods.
// After each one no process, no segment and no descriptor is left.

#include <fmt/format.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "faults/demo_run.h"
#include "support/leak_audit.h"

using plab::test::DemoEnd;
using plab::test::DemoRun;
using plab::test::LeakAudit;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kKills = 40;  // each takes several times as long
#else
constexpr int kKills = 200;
#endif

void wait_randomly(std::mt19937& random) {
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 400'000));
}

// Kills processes of the run until it ends: one that had done its work already is no loss to it.
void kill_some_worker(DemoRun& run, std::mt19937& random) {
  const auto deadline = plab::test::patience();
  while (!deadline.expired()) {
    const std::vector<int> all = run.descendants();
    if (!all.empty()) ::kill(all[random() % all.size()], SIGKILL);
    if (run.process().wait(
            plab::Deadline::after(std::chrono::milliseconds(all.empty() ? 1 : 300)))) {
      return;
    }
  }
}

}  // namespace

TEST_CASE("200 kills at random moments leave nothing behind", "[faults][demo][slow]") {
  const std::array<std::string, 3> methods{"fork", "spawn", "forkserver"};
  std::mt19937 random(20'250'101);
  for (std::size_t i = 0; i < kKills; ++i) {
    const LeakAudit audit;
    const bool parent = random() % 2 == 0;
    {
      DemoRun run({"--processes", "2", "--epochs", "100000", "--quiet", "--start-method",
                   methods[i % methods.size()]});
      wait_randomly(random);
      if (parent) {
        run.process().kill(SIGKILL);
      } else {
        kill_some_worker(run, random);
      }
      const DemoEnd end = run.end();
      INFO(fmt::format("kill {} by {} of the {}\n{}", i, methods[i % methods.size()],
                       parent ? "demo" : "worker", end.text()));
      if (parent) {
        CHECK(end.status.signal == SIGKILL);
      } else {
        CHECK(end.status.code == 4);
        CHECK(end.err.find("SIGKILL") != std::string::npos);
      }
      CHECK(DemoRun::survivors() == "");
    }
    INFO("kill " << i << " by " << methods[i % methods.size()]);
    CHECK(audit.leaks() == "");
  }
}
