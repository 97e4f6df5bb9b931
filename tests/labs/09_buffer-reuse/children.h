#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the check of lab 09 shares with its children, and what they run.

#include <cstdint>
#include <string>

#include "09_buffer-reuse/lab.hpp"
#include "plab/mp/sync.h"

namespace lab09 {

/// A buffer, by the block that it is in. Zeros: it is not in shared memory.
struct Buffer {
  std::uint64_t arena = 0;
  std::uint32_t block = 0;
  std::uint32_t generation = 0;
  friend bool operator==(const Buffer&, const Buffer&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(arena, block, generation);
  }
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] Buffer buffer_of(const plab::Tensor& tensor);

/// What a child says at the start of each fill and each use.
struct Report {
  std::int64_t number = 0;
  Buffer buffer;
  bool whole = true;          ///< use: every element was right, before and after the wait
  bool free_is_empty = true;  ///< use: no free buffer was there
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, buffer, whole, free_is_empty);
  }
};

/// What a process has of memory at one moment.
struct Footprint {
  std::int32_t pid = 0;
  std::int64_t mappings = 0;
  std::int64_t descriptors = 0;
  std::uint64_t blocks = 0;
  friend bool operator==(const Footprint&, const Footprint&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(pid, mappings, descriptors, blocks);
  }
};

/// What a child gets.
struct Setup {
  std::uint64_t seed = 0;
  std::int64_t count = 0;
  std::int64_t warm_up = -1;  ///< after this batch, and at the last, the footprint is taken
  bool together = false;      ///< else one child and the check
  Lane lane;
  plab::mp::SimpleQueue<Report> reports;
  plab::mp::SimpleQueue<Footprint> footprints;
  plab::mp::Semaphore begun{0};  ///< together: batches whose filling has begun
  template <class Archive>
  void serialize(Archive& archive) {
    archive(seed, count, warm_up, together, lane, reports, footprints, begun);
  }
};

/// The elements of a batch come from the seed and its number.
void write_batch(std::uint64_t seed, std::int64_t number, const plab::Tensor& buffer);
[[nodiscard]] bool is_batch(std::uint64_t seed, std::int64_t number, const plab::Tensor& buffer);

/// What the children run.
void run_producer(Setup setup);
void run_consumer(Setup setup);

}  // namespace lab09
