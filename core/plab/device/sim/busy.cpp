// SPDX-License-Identifier: Apache-2.0
#include "plab/device/sim/busy.h"

#include <algorithm>
#include <iterator>

namespace plab::device::sim {

namespace {
constexpr std::size_t kRemembered = 256;
}  // namespace

double Busy::book(double ready, double duration) {
  auto next = std::ranges::upper_bound(taken_, ready, {}, &Interval::end);
  double start = ready;
  while (next != taken_.end() && next->start < start + duration) {
    start = std::max(start, next->end);
    ++next;
  }
  // Neighbours that touch become one, so a busy engine is a short list.
  const bool joins = next != taken_.begin() && std::prev(next)->end == start;
  if (joins) {
    std::prev(next)->end = start + duration;
  } else {
    taken_.insert(next, Interval{start, start + duration});
  }
  if (taken_.size() > kRemembered) {  // the oldest gap is given up
    taken_[1].start = taken_[0].start;
    taken_.erase(taken_.begin());
  }
  return start;
}

}  // namespace plab::device::sim
