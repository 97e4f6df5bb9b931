// SPDX-License-Identifier: Apache-2.0
#include "pace.h"

#include <algorithm>

namespace plab::lab {

namespace {

// A thread that sleeps in a wait of plab's looks at its condition ten times a second: that is no
// work. It takes far less than these shares.
constexpr double kIdleCpu = 0.02;
constexpr double kIdleRunnable = 0.1;

}  // namespace

void Pace::open_window(const PaceSample& sample) {
  opened_ = sample.at;
  at_opening_ = sample.cpu;
  samples_ = 0;
  runnable_ = 0;
}

bool Pace::was_quiet(const PaceSample& sample) const {
  double computed = 0;
  for (const auto& [pid, seconds] : sample.cpu) {
    const auto before = at_opening_.find(pid);
    computed += seconds - (before == at_opening_.end() ? 0 : before->second);
  }
  return computed < kIdleCpu * (sample.at - opened_) && runnable_ < kIdleRunnable * samples_;
}

Pace::Says Pace::take(const PaceSample& sample) {
  if (first_ || sample.events != events_) {
    first_ = false;
    events_ = sample.events;
    at_event_ = sample.cpu;
    open_window(sample);
  }
  ++samples_;
  runnable_ += sample.has_runnable ? 1 : 0;
  double most = 0;
  for (const auto& [pid, seconds] : sample.cpu) {
    const double before = at_event_.try_emplace(pid, seconds).first->second;
    most = std::max(most, seconds - before);
  }
  if (most >= limits_.compute) return Says::kComputes;
  if (sample.at - opened_ >= limits_.quiet) {
    if (was_quiet(sample)) return Says::kQuiet;
    open_window(sample);
  }
  return sample.at >= limits_.total ? Says::kSlow : Says::kGoOn;
}

}  // namespace plab::lab
