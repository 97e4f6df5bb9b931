// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>

namespace plab::bench {

std::string Goal::text() const {
  switch (rule) {
    case Rule::kValueAtMost:
      return fmt::format("at most {:g}", limit);
    case Rule::kRatioAtMost:
      return fmt::format("at most {:g} x peer", limit);
    case Rule::kRatioAtLeast:
      return fmt::format("at least {:g} x peer", limit);
    case Rule::kTimesFaster:
      return fmt::format("{:g} times faster", limit);
  }
  return "";
}

std::optional<double> Row::ratio() const {
  if (!peer_value || *peer_value == 0 || value == 0) return std::nullopt;
  return goal.rule == Rule::kTimesFaster ? *peer_value / value : value / *peer_value;
}

std::optional<bool> Row::ok() const {
  if (goal.rule == Rule::kValueAtMost) return value <= goal.limit;
  const auto r = ratio();
  if (!r) return std::nullopt;
  return goal.rule == Rule::kRatioAtMost ? *r <= goal.limit : *r >= goal.limit;
}

Pair alternate(int rounds, Better better, const std::function<double()>& ours,
               const std::function<double()>& peer) {
  const auto keep = [better](double best, double now) {
    return better == Better::kLower ? std::min(best, now) : std::max(best, now);
  };
  Pair best{ours(), peer()};
  for (int i = 1; i < rounds; ++i) {
    best.ours = keep(best.ours, ours());
    best.peer = keep(best.peer, peer());
  }
  return best;
}

}  // namespace plab::bench
