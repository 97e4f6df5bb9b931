// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/spin.h"

#include <catch2/catch_test_macros.hpp>

namespace plab::shm {
namespace {

TEST_CASE("a thread that knows nothing spins for the longest time", "[shm][spin]") {
  CHECK(SpinBudget().ns() == SpinBudget::kLongest);
}

TEST_CASE("short waits shrink the budget slowly, not below what is worthwhile", "[shm][spin]") {
  SpinBudget budget;
  budget.caught(1'000);
  CHECK(budget.ns() > SpinBudget::kLongest / 2);
  for (int i = 0; i < 200; ++i) budget.caught(1'000);
  CHECK(budget.ns() == SpinBudget::kWorthwhile);
  budget.caught(17'000);
  CHECK(budget.ns() == 34'000);
  budget.caught(500'000);
  CHECK(budget.ns() == SpinBudget::kLongest);
}

TEST_CASE("one spin in vain is chance; a row of them nearly ends the spinning", "[shm][spin]") {
  SpinBudget budget;
  for (int i = 0; i < 200; ++i) budget.caught(2'000);
  budget.missed();
  CHECK(budget.ns() == SpinBudget::kWorthwhile);
  std::int64_t wasted = 0;  // a partner on the same core: no spin ever catches it
  constexpr int kWaits = 10'000;
  for (int i = 0; i < kWaits; ++i) {
    wasted += budget.ns();
    budget.missed();
  }
  CHECK(wasted / kWaits < 2'000);
  CHECK(wasted / kWaits > SpinBudget::kShortest);
}

TEST_CASE("after a row of misses a long spin is tried again, and one success is believed",
          "[shm][spin]") {
  SpinBudget budget;
  int waits = 0;
  while (budget.ns() != SpinBudget::kShortest) budget.missed();
  while (budget.ns() != SpinBudget::kLongest && waits < 1'000) {
    budget.missed();
    ++waits;
  }
  CHECK(waits <= 64);
  budget.caught(9'000);
  CHECK(budget.ns() == 18'000);
}

}  // namespace
}  // namespace plab::shm
