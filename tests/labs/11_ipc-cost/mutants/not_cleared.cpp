// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 11: the bytes of a message stay for the next one
#include "11_ipc-cost/lab.hpp"

#include <algorithm>

#include "plab/base/deadline.h"
#include "support/not_done.h"

namespace lab11 {

double cost_us(const std::function<void()>& once, int warm_up, int repeats) {
  for (int i = 0; i < warm_up; ++i) once();
  std::vector<std::int64_t> times;
  for (int i = 0; i < repeats; ++i) {
    const std::int64_t start = plab::monotonic_ns();
    once();
    times.push_back(plab::monotonic_ns() - start);
  }
  std::ranges::sort(times);
  return static_cast<double>(times[times.size() / 2]) / 1e3;
}

void add(Batcher& batcher, std::span<const std::uint8_t> record, std::int64_t now_ns) {
  Batch& batch = batcher.batch;
  if (batch.bytes.size() + record.size() > batcher.most_bytes) finish(batcher);
  if (batch.lengths.empty()) batcher.oldest_ns = now_ns;
  batch.bytes.insert(batch.bytes.end(), record.begin(), record.end());
  batch.lengths.push_back(static_cast<std::uint32_t>(record.size()));
  if (batch.bytes.size() >= batcher.most_bytes) finish(batcher);
}

void tick(Batcher& batcher, std::int64_t now_ns) {
  if (now_ns - batcher.oldest_ns >= batcher.longest_ns) finish(batcher);
}

void finish(Batcher& batcher) {
  if (batcher.batch.lengths.empty()) return;
  batcher.send(batcher.batch);
  batcher.batch.lengths.clear();
}

std::optional<std::size_t> crossover(std::span<const Cost> costs) {
  std::optional<std::size_t> found;
  for (auto cost = costs.rbegin(); cost != costs.rend(); ++cost) {
    if (cost->shared_us >= cost->copied_us) break;
    found = cost->bytes;
  }
  return found;
}

}  // namespace lab11
