#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 09: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <cstdint>

#include "plab/mp/simple_queue.h"
#include "plab/tensor/tensor.h"

namespace lab09 {

/// A message: which one, and the buffer that it is in.
struct Batch {
  std::int64_t number = 0;
  plab::Tensor data;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, data);
  }
};

/// Two queues between a producer and a consumer: full buffers go one way, empty ones come back.
struct Lane {
  plab::mp::SimpleQueue<Batch> full;
  plab::mp::SimpleQueue<plab::Tensor> free;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(full, free);
  }
};

/// Writes batch `number` into a buffer, all of it. Given.
void fill(std::int64_t number, const plab::Tensor& buffer);

/// Computes with a batch; its bytes must stay as they are until use() returns. Given.
void use(const Batch& batch);

/// A lane whose buffers, `count` tensors of f32 with that many elements, lie in its queue of free
/// ones, in shared memory from the start.
[[nodiscard]] Lane make_lane(int count, std::int64_t elements);

/// In the producer's process: batches 0 to count - 1, one after the other, as fast as there are
/// free buffers. Makes no tensor of its own.
void produce(Lane& lane, std::int64_t count);

/// In the consumer's process: uses `count` batches in the order in which they come, and gives each
/// buffer back.
void consume(Lane& lane, std::int64_t count);

}  // namespace lab09
