// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/spin.h"

#include <algorithm>

#include "plab/base/deadline.h"
#include "plab/base/early.h"
#include "plab/base/env.h"
#include "plab/os/proc.h"

namespace plab::shm {

namespace {

// What this thread has learnt.
thread_local constinit SpinBudget t_budget;

// The fixed budget, or -1 when each thread learns its own.
std::int64_t fixed_budget() {
  static const std::int64_t budget = [] {
    if (const auto us = env::get_int("PLAB_SPIN_US", 0, 1'000'000)) return *us * 1000;
    return os::online_cores() == 1 ? std::int64_t{0} : std::int64_t{-1};
  }();
  return budget;
}

const Early g_early_spin([] { (void)fixed_budget(); });

}  // namespace

void SpinBudget::caught(std::int64_t took) noexcept {
  misses_ = 0;
  // Twice that long catches most like it. It shrinks slowly: waits of a queue vary.
  budget_ = std::clamp(std::max(budget_ - budget_ / 16, 2 * took), kWorthwhile, kLongest);
}

void SpinBudget::missed() noexcept {
  if (++misses_ >= 2) budget_ = std::max(budget_ / 2, kShortest);
}

std::int64_t spin_budget_ns() {
  const std::int64_t fixed = fixed_budget();
  return fixed >= 0 ? fixed : t_budget.ns();
}

bool spin(detail::Ready ready, void* data) {
  const std::int64_t budget = spin_budget_ns();
  if (budget == 0) return false;
  const std::int64_t start = monotonic_ns();
  for (;;) {
    for (int i = 0; i < 16; ++i) {
      if (ready(data)) {
        t_budget.caught(monotonic_ns() - start);
        return true;
      }
      relax();
    }
    if (monotonic_ns() - start >= budget) break;
  }
  t_budget.missed();
  return false;
}

}  // namespace plab::shm
