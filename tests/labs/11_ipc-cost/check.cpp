// SPDX-License-Identifier: Apache-2.0
// The check of lab 11. Calls that take a known time, a clock that the check turns, made-up costs;
// then real queues. Times are compared only with times of the same calls in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <thread>

#include "11_ipc-cost/lab.hpp"
#include "plab/mp/init.h"
#include "support/check.h"
#include "tests/labs/11_ipc-cost/parts.h"

namespace lab11 {

using namespace plab;

namespace {

using lab::CheckRun;

void work_for(std::int64_t us) {
  const std::int64_t end = monotonic_ns() + us * 1000;
  while (monotonic_ns() < end) {
  }
}
void stumble() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

/// Measures with the learner's function and compares with what the calls themselves saw.
void require_cost(CheckRun& check, std::string_view what, std::string_view code,
                  const std::function<void(int)>& work, std::pair<int, int> counts) {
  const auto [warm_up, repeats] = counts;
  Witness witness;
  const double got = cost_us([&] { witness.call(work); }, warm_up, repeats);
  check.require(witness.calls() == static_cast<std::size_t>(warm_up + repeats), "L11-WARM-UP", [&] {
    return fmt::format("{} calls were made; {} to warm up and {} to measure were asked for",
                       witness.calls(), warm_up, repeats);
  });
  const double truth = witness.median_behind(warm_up);
  check.require(got < 1.6 * truth + 3 && got > 0.6 * truth - 3, code, [&] {
    return fmt::format(
        "{}: cost_us gives {:.1f} us; the median of the {} calls behind the first {} "
        "is {:.1f} us",
        what, got, repeats, warm_up, truth);
  });
}

void costs_are_right(CheckRun& check) {
  const auto base = static_cast<std::int64_t>(60 + check.seed() % 40);
  const int warm_up = 6 + static_cast<int>(check.seed() % 3);
  require_cost(check, "the first calls are slow", "L11-WARM-UP",
               [&](int call) { call < warm_up ? stumble() : work_for(base); },
               {warm_up, warm_up - 1});
  std::mt19937_64 random(check.seed());
  std::array<bool, 11> slow{true, true, true, true};
  std::ranges::shuffle(slow, random);
  require_cost(check, "four calls in eleven are slow", "L11-MEAN",
               [&](int call) {
                 call >= 2 && slow.at(static_cast<std::size_t>(call - 2)) ? stumble()
                                                                          : work_for(base);
               },
               {2, 11});
  check.proved(
      fmt::format("calls of {} us are measured as such, though the first ones and four in "
                  "eleven take 2,000 us",
                  base));
}

std::string text_of(std::optional<std::size_t> bytes) {
  return bytes ? fmt::format("{} bytes", *bytes) : "nothing";
}

void crossovers_are_right(CheckRun& check) {
  std::mt19937_64 random(check.seed() * 5);
  constexpr std::size_t kSizes = 9;
  for (std::size_t from = 0; from <= kSizes; ++from) {
    std::vector<Cost> costs;
    for (std::size_t i = 0; i < kSizes; ++i) {
      const double shared = 12 + static_cast<double>(random() % 300) / 100;
      const double apart = 1 + static_cast<double>(random() % 500) / 100;
      // One size below the cross-over, not the last, was measured badly.
      const bool stumbles = i + 1 < from && i == from / 2;
      costs.push_back({std::size_t{64} << (2 * i),
                       i >= from || stumbles ? shared + apart : shared - apart, shared});
    }
    const auto expected =
        from < kSizes ? std::optional(costs[from].bytes) : std::optional<std::size_t>();
    const auto got = crossover(costs);
    check.require(got == expected, "L11-CROSSOVER", [&] {
      std::string table;
      for (const Cost& cost : costs) {
        table += fmt::format("\n{:>9} bytes: copied {:.1f} us, shared {:.1f} us", cost.bytes,
                             cost.copied_us, cost.shared_us);
      }
      return fmt::format("crossover gives {}, expected is {}, for{}", text_of(got),
                         text_of(expected), table);
    });
  }
  check.require(!crossover({}), "L11-CROSSOVER",
                [] { return std::string("a cross-over was found in no costs at all"); });
  check.proved("the cross-over is found among costs of which one was measured badly");
}

}  // namespace
}  // namespace lab11

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"costs are medians of warm calls", lab11::costs_are_right, 4},
      plab::lab::CheckCase{"batches go out when they are full or old", lab11::batches_are_right,
                           5000},
      plab::lab::CheckCase{"the cross-over", lab11::crossovers_are_right, 10},
      plab::lab::CheckCase{"what a message costs here", lab11::real_costs, 10},
      plab::lab::CheckCase{"a stream to another process", lab11::real_batches, 2}};
  return plab::lab::run_checks(argc, argv, kCases);
}
