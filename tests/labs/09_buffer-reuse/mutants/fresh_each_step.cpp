// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 09: a new tensor for each batch
#include "09_buffer-reuse/lab.hpp"

#include "support/not_done.h"

using plab::Deadline;
using plab::Tensor;

namespace lab09 {

Lane make_lane(int count, std::int64_t elements) {
  Lane lane;
  for (int i = 0; i < count; ++i) {
    const Tensor buffer = Tensor::zeros({elements});
    buffer.share_memory();
    lane.free.put(buffer, Deadline::never());
  }
  return lane;
}

void produce(Lane& lane, std::int64_t count) {
  for (std::int64_t number = 0; number < count; ++number) {
    const Tensor buffer = Tensor::zeros(lane.free.get(Deadline::never())->sizes());
    fill(number, buffer);
    lane.full.put({number, buffer}, Deadline::never());
  }
}

void consume(Lane& lane, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Batch batch = *lane.full.get(Deadline::never());
    use(batch);
    lane.free.put(batch.data, Deadline::never());
  }
}

}  // namespace lab09
