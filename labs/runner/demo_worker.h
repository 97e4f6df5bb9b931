#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a worker process of the demo does.

#include <cstdint>

#include "demo_board.h"
#include "demo_train.h"

namespace plab::lab {

/// Stands in the curves for epochs that are not done.
inline constexpr float kNoLoss = -1;

/// All that a worker needs; its tensors are shared by all of them.
struct WorkerJob {
  std::int32_t processes = 1;
  std::int32_t epochs = 1;
  std::int64_t batch = 1;
  double lr = 0;
  std::uint64_t seed = 0;
  Tensor features{};
  Tensor labels{};
  Network network{};
  Tensor witness{};  ///< float32; every step adds 1 to each element
  Tensor board{};
  Tensor curves{};  ///< float32 [processes, epochs]

  template <class Archive>
  void serialize(Archive& archive) {
    archive(processes, epochs, batch, lr, seed, features, labels, network, witness, board, curves);
  }
};

/// A new network and the rest of the job, in shared memory.
[[nodiscard]] WorkerJob make_job(const DemoOptions& options, int processes,
                                 const data::TensorDataset& data);

/// The steps that a rank does in all epochs.
[[nodiscard]] std::int64_t steps_of(const WorkerJob& job, int rank);

/// Trains as rank `rank` until all is done or the board says stop.
void train_rank(int rank, WorkerJob job);

}  // namespace plab::lab
