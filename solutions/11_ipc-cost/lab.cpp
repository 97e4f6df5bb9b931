// SPDX-License-Identifier: Apache-2.0
// Lab 11: what messages cost. The only file that you edit.
#include "11_ipc-cost/lab.hpp"

#include <algorithm>

#include "plab/base/deadline.h"
#include "support/not_done.h"

namespace lab11 {

double cost_us(const std::function<void()>& once, int warm_up, int repeats) {
  //! TODO(1): call once() warm_up times, then repeats times between two looks at the clock
  //! (plab::monotonic_ns); return the median of the times, in microseconds.
  for (int i = 0; i < warm_up; ++i) once();
  std::vector<std::int64_t> times;
  for (int i = 0; i < repeats; ++i) {
    const std::int64_t start = plab::monotonic_ns();
    once();
    times.push_back(plab::monotonic_ns() - start);
  }
  std::ranges::sort(times);
  return static_cast<double>(times[times.size() / 2]) / 1e3;
  //! END
}

void add(Batcher& batcher, std::span<const std::uint8_t> record, std::int64_t now_ns) {
  //! TODO(2): when the record does not fit any more, what is collected goes first (finish). Then
  //! append it, and remember when the oldest came. What is full goes at once.
  Batch& batch = batcher.batch;
  if (batch.bytes.size() + record.size() > batcher.most_bytes) finish(batcher);
  if (batch.lengths.empty()) batcher.oldest_ns = now_ns;
  batch.bytes.insert(batch.bytes.end(), record.begin(), record.end());
  batch.lengths.push_back(static_cast<std::uint32_t>(record.size()));
  if (batch.bytes.size() >= batcher.most_bytes) finish(batcher);
  //! END
}

void tick(Batcher& batcher, std::int64_t now_ns) {
  //! TODO(3): when the oldest record has waited for longest_ns, send.
  if (now_ns - batcher.oldest_ns >= batcher.longest_ns) finish(batcher);
  //! END
}

void finish(Batcher& batcher) {
  //! TODO(4): call batcher.send with what is collected, if there is anything, and start anew.
  if (batcher.batch.lengths.empty()) return;
  batcher.send(batcher.batch);
  batcher.batch.bytes.clear();
  batcher.batch.lengths.clear();
  //! END
}

std::optional<std::size_t> crossover(std::span<const Cost> costs) {
  //! TODO(5): single measurements lie; a size counts only if all larger ones agree. Which end do
  //! you start from?
  std::optional<std::size_t> found;
  for (auto cost = costs.rbegin(); cost != costs.rend(); ++cost) {
    if (cost->shared_us >= cost->copied_us) break;
    found = cost->bytes;
  }
  return found;
  //! END
}

}  // namespace lab11
