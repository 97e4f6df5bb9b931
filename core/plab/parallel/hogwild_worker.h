#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a process of a Hogwild training does. For the files of parallel.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plab/mp/archive.h"
#include "plab/mp/code_address.h"
#include "plab/parallel/hogwild.h"
#include "plab/parallel/hogwild_board.h"

namespace plab::parallel {

/// All that it needs; the tensors are shared.
struct HogwildJob {
  mp::CodeAddress factory{};
  ModelSpec spec{};
  nn::StateDict state{};
  Tensor inputs{};
  Tensor labels{};
  HogwildBoard board{};
  std::int32_t epochs = 0;
  std::int64_t batch = 1;
  double lr = 0;
  double momentum = 0;
  double weight_decay = 0;
  std::int32_t probe_every = 0;
  std::int32_t probes = 0;
  std::uint64_t seed = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(factory.build_id, factory.zero, factory.offset, spec, state, inputs, labels, board,
            epochs, batch, lr, momentum, weight_decay, probe_every, probes, seed);
  }
};

/// Batches of one epoch, over all processes.
[[nodiscard]] std::int64_t batches_of(const HogwildJob& job);
/// The steps that a process makes in all epochs.
[[nodiscard]] std::int64_t steps_of(const HogwildJob& job, int rank);

/// Trains until all is done or the board says stop. Runs in the process of `rank`.
void run_hogwild_worker(int rank, HogwildJob job);

}  // namespace plab::parallel
