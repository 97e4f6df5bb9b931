// SPDX-License-Identifier: Apache-2.0
// Starting and joining two processes by spawn.
#include "bench/bench.h"
#include "bench/peers.h"
#include "plab/base/deadline.h"
#include "plab/mp/spawn.h"

namespace plab::bench {

namespace {

void nothing(int /*rank*/) {}

double spawn_two_us() {
  const auto start = monotonic_ns();
  mp::spawn(nothing, std::tuple<>(), 2);
  return static_cast<double>(monotonic_ns() - start) / 1e3;
}

}  // namespace

void bench_spawn(std::vector<Row>& rows) {
  const auto pair = alternate(30, Better::kLower, spawn_two_us, posix_spawn_two_us);
  rows.push_back({.name = "start and join two processes by spawn",
                  .value = pair.ours / 1e3,
                  .unit = "ms",
                  .peer = "posix_spawn",
                  .peer_value = pair.peer / 1e3,
                  .goal = {Rule::kRatioAtMost, 1.5}});
  const auto torch = torch_figures("spawn");
  rows.push_back({.name = "start and join two processes by spawn",
                  .value = pair.ours / 1e3,
                  .unit = "ms",
                  .peer = "torch spawn",
                  .peer_value = torch ? std::optional(torch->at("two_us") / 1e3) : std::nullopt,
                  .goal = {Rule::kTimesFaster, 10}});
}

}  // namespace plab::bench
