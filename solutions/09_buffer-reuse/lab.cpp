// SPDX-License-Identifier: Apache-2.0
// Lab 09: a stream of batches through a few buffers. The only file that you edit.
#include "09_buffer-reuse/lab.hpp"

#include "support/not_done.h"

using plab::Deadline;
using plab::Tensor;

namespace lab09 {

Lane make_lane(int count, std::int64_t elements) {
  //! TODO(1): a lane; make each buffer, move it to shared memory (share_memory), and put it into
  //! the queue of free ones. This is the only place where memory is made.
  Lane lane;
  for (int i = 0; i < count; ++i) {
    const Tensor buffer = Tensor::zeros({elements});
    buffer.share_memory();
    lane.free.put(buffer, Deadline::never());
  }
  return lane;
  //! END
}

void produce(Lane& lane, std::int64_t count) {
  //! TODO(2): for each batch wait for a free buffer, fill it, and send it. Whose is a buffer
  //! between its sending and its return?
  for (std::int64_t number = 0; number < count; ++number) {
    const Tensor buffer = *lane.free.get(Deadline::never());
    fill(number, buffer);
    lane.full.put({number, buffer}, Deadline::never());
  }
  //! END
}

void consume(Lane& lane, std::int64_t count) {
  //! TODO(3): take each batch, use it, and give its buffer back: once, and when it is no longer
  //! needed.
  for (std::int64_t i = 0; i < count; ++i) {
    const Batch batch = *lane.full.get(Deadline::never());
    use(batch);
    lane.free.put(batch.data, Deadline::never());
  }
  //! END
}

}  // namespace lab09
