// SPDX-License-Identifier: Apache-2.0
// Three launchers and the same fault: rank 1 throws after 50 ms, rank 0 works for half a second.
// Who waits in the order of the ranks learns of it late; who ends the others and looks at them in
// order blames one that it ended itself; mp::spawn does neither.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "plab/base/deadline.h"
#include "plab/base/timeline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/spawn.h"

using namespace plab;

namespace {

void train(int rank) {
  const timeline::Span span("train");
  if (rank == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw std::runtime_error("loss is nan");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
}

std::vector<mp::Process> start_all() {
  std::vector<mp::Process> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back(mp::ProcessOptions{.name = fmt::format("rank {}", rank),
                                          .print_errors = mp::PrintErrors::kNo},
                       train, rank);
    ranks.back().start();
  }
  return ranks;
}

void say(std::int64_t start, const std::string& what) {
  fmt::print("  after {:.2f} s: {}\n", static_cast<double>(monotonic_ns() - start) / 1e9, what);
  std::fflush(stdout);
}

void joins_in_rank_order() {
  fmt::print("1. a launcher that joins rank 0, then rank 1, then rank 2\n");
  const std::int64_t start = monotonic_ns();
  std::vector<mp::Process> ranks = start_all();
  for (mp::Process& rank : ranks) {
    rank.join(Deadline::never());
    if (const auto error = rank.error()) say(start, rank.name() + ": " + error->message());
  }
}

void blames_the_lowest() {
  fmt::print("2. a launcher that ends all, then looks for the first that failed\n");
  const std::int64_t start = monotonic_ns();
  std::vector<mp::Process> ranks = start_all();
  ranks[1].join(Deadline::never());
  for (mp::Process& rank : ranks) rank.terminate();
  for (mp::Process& rank : ranks) {
    rank.join(Deadline::never());
    if (rank.exitcode() == 0) continue;
    say(start, fmt::format("{} failed with {}: it was ended by the launcher itself", rank.name(),
                           rank.signal_name()));
    return;
  }
}

void as_spawn_does() {
  fmt::print("3. mp::spawn\n");
  std::fflush(stdout);
  const std::int64_t start = monotonic_ns();
  try {
    mp::spawn(train, std::tuple<>(), 3, {.start_method = mp::StartMethod::kFork});
  } catch (const mp::ProcessRaised& error) {
    say(start, fmt::format("rank {}: {}", error.rank(), error.message()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  mp::init(argc, argv);
  joins_in_rank_order();
  blames_the_lowest();
  as_spawn_does();
}
