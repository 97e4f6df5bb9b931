#pragma once
// SPDX-License-Identifier: Apache-2.0
// The modelled time of one engine (compute, a copy engine): it does one operation at a time.

#include <vector>

namespace plab::device::sim {

/// When an engine is busy, as intervals in microseconds. An operation takes the first gap that is
/// long enough, so the plan depends on the order of the calls alone, not on threads.
class Busy {
 public:
  /// Books `duration` from `ready` on at the earliest; returns the start.
  double book(double ready, double duration);

 private:
  struct Interval {
    double start;
    double end;
  };
  std::vector<Interval> taken_;  // sorted, disjoint; what is long past is forgotten
};

}  // namespace plab::device::sim
