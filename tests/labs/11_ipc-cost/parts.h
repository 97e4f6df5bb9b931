#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the parts of the check of lab 11 share.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plab/base/deadline.h"
#include "support/check.h"

namespace lab11 {

using Record = std::vector<std::uint8_t>;

/// The times of calls, as seen from within.
class Witness {
 public:
  template <typename Work>
  void call(Work work) {
    const std::int64_t start = plab::monotonic_ns();
    work(static_cast<int>(times_.size()));
    times_.push_back(static_cast<double>(plab::monotonic_ns() - start) / 1e3);
  }
  [[nodiscard]] std::size_t calls() const { return times_.size(); }
  [[nodiscard]] double median_behind(int warm_up) const {
    std::vector<double> times(
        times_.begin() + std::min<std::ptrdiff_t>(warm_up, std::ssize(times_)), times_.end());
    if (times.empty()) return 0;
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

 private:
  std::vector<double> times_;
};

/// The cases of batches.cpp and real.cpp.
void batches_are_right(plab::lab::CheckRun& check);
void real_costs(plab::lab::CheckRun& check);
void real_batches(plab::lab::CheckRun& check);

}  // namespace lab11
