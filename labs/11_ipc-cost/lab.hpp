#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 11: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace lab11 {

/// What one call of once() costs, in microseconds. Calls it `warm_up` times without looking at the
/// clock, then `repeats` times with one, and gives the median of these: the first calls find pages,
/// caches and threads that are not ready, and on a machine with other work some calls take a
/// hundred times as long as the others.
[[nodiscard]] double cost_us(const std::function<void()>& once, int warm_up, int repeats);

/// Records that travel in one message, one behind the other.
struct Batch {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint32_t> lengths;  ///< of each record; none: an empty batch
  template <class Archive>
  void serialize(Archive& archive) {
    archive(bytes, lengths);
  }
};

/// Collects records and sends them in few messages. A message goes out when it is full, or when
/// its oldest record has waited long enough, whichever comes first.
struct Batcher {
  std::size_t most_bytes = 0;   ///< of a message, unless one record alone is longer
  std::int64_t longest_ns = 0;  ///< a record waits no longer (as far as tick() is called)
  std::function<void(const Batch&)> send;
  Batch batch;                 ///< what has been collected
  std::int64_t oldest_ns = 0;  ///< when the first record of `batch` came
};

/// A record has come at the time `now_ns`. It goes into the next message, behind those before it.
void add(Batcher& batcher, std::span<const std::uint8_t> record, std::int64_t now_ns);
/// Called now and then, also while no record comes.
void tick(Batcher& batcher, std::int64_t now_ns);
/// Sends what has been collected, whatever its size and age; nothing when that is nothing.
void finish(Batcher& batcher);

/// What a message of that size costs when its bytes go through the queue, and when they lie in
/// shared memory and a handle goes.
struct Cost {
  std::size_t bytes = 0;
  double copied_us = 0;
  double shared_us = 0;
};

/// From which of the measured sizes on sharing is cheaper: at that one and at all larger ones.
/// Nothing: at the largest it is not. `costs` is in the order of the sizes.
[[nodiscard]] std::optional<std::size_t> crossover(std::span<const Cost> costs);

}  // namespace lab11
