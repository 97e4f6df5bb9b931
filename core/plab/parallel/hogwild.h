#pragma once
// SPDX-License-Identifier: Apache-2.0
// Hogwild: several processes train one model in shared memory, without locks (Niu, Recht, Re and
// Wright, 2011). Each process computes gradients of its own and adds its updates to the shared
// parameters by plain stores. Now and then one overwrites another's update; training bears it, and
// lost_updates.h counts it.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plab/mp/context.h"
#include "plab/nn/module.h"
#include "plab/parallel/lost_updates.h"
#include "plab/tensor/tensor.h"

namespace plab::parallel {

/// What a factory makes a model from; it goes to every process.
struct ModelSpec {
  std::vector<std::int64_t> sizes{};  ///< what the factory makes of them is its affair
  std::uint64_t seed = 0;
  std::int32_t rank = -1;  ///< of the process that calls; -1 in the parent
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sizes, seed, rank);
  }
};

/// A free function, so that a fresh process finds it in its own copy of the program. It is called
/// once in the parent and once in each process, where the parameters and buffers of the result are
/// then replaced by the shared ones: it has to make the same form each time. What is not a
/// parameter or a buffer (the generator of a Dropout) is the process's own; use `rank` there.
using ModelFactory = std::shared_ptr<nn::Module> (*)(const ModelSpec& spec);

/// Linear layers of the given sizes with ReLU between them: {64, 128, 10} is the network of the
/// demo. @throws ContractError for fewer than two sizes
[[nodiscard]] std::shared_ptr<nn::Module> make_mlp(const ModelSpec& spec);

/// Rows to train on. Labels of a whole-number dtype are classes and go with cross entropy; floating
/// ones go with the mean squared error.
struct TrainingData {
  Tensor inputs;  ///< first dimension: rows
  Tensor labels;
};

/// How far one process is.
struct WorkerProgress {
  std::int64_t steps = 0;
  std::int64_t steps_wanted = 0;
  float loss = 0;  ///< of its last step
};

struct HogwildOptions {
  int processes = 1;
  int epochs = 1;
  std::int64_t batch = 32;
  double lr = 0.1;
  double momentum = 0;
  double weight_decay = 0;
  std::uint64_t seed = 0;
  mp::StartMethod start_method = mp::StartMethod::kFork;
  ProbeOptions probe{};  ///< `between` is not handed to the processes
  /// Ends the training early when it becomes true (Ctrl-C); null: never.
  const std::atomic<bool>* stop = nullptr;
  /// Called in the parent about every `progress_every`, and once at the end.
  std::function<void(const std::vector<WorkerProgress>&)> progress{};
  std::chrono::nanoseconds progress_every = std::chrono::milliseconds(100);
  /// How long processes may take to end after `stop`, before they are ended by force.
  std::chrono::nanoseconds stop_grace = std::chrono::seconds(5);
};

/// A point of a loss curve.
struct LossPoint {
  double seconds = 0;  ///< since all processes started to train
  std::int64_t step = 0;
  double loss = 0;  ///< mean since the point before
};

struct WorkerResult {
  WorkerProgress progress;
  std::vector<LossPoint> curve;  ///< at most 256 points
  LostUpdates lost_updates;
};

struct HogwildResult {
  std::shared_ptr<nn::Module> model;  ///< its parameters are the shared ones
  std::vector<WorkerResult> workers;  ///< by rank
  std::int64_t steps = 0;
  double seconds = 0;        ///< with starting and ending the processes
  double train_seconds = 0;  ///< from the moment that all were ready to the last one's last step
  double steps_per_second = 0;
  LostUpdates lost_updates;  ///< of all processes
  bool stopped = false;      ///< by options.stop
};

/// Trains a model of `factory(spec)` by SGD in `options.processes` processes.
///
/// In each epoch one permutation of the rows, the same for all processes, is cut into batches, and
/// process r gets the batches r, r + n, r + 2n, ... So the work is the same for any number of
/// processes. Moves `data` to shared memory. Each process uses one thread for its products.
///
/// @blocks until all processes have ended
/// @throws ContractError, ShapeError for options or data that cannot be trained; mp::ProcessRaised,
/// mp::ProcessExited when a process threw or was killed: the others are ended first; TimeoutError
/// when a process does not end after `stop`
/// @procs leaves no process, also when it throws. Kill the parent, and they die with it
/// @fork safe in a process whose threads hold no locks that the processes need (start method fork)
[[nodiscard]] HogwildResult hogwild(ModelFactory factory, const ModelSpec& spec,
                                    const TrainingData& data, const HogwildOptions& options);

/// The share of rows whose greatest output is their label, in evaluation mode and unrecorded; the
/// mode is put back. @throws ShapeError, DTypeError when the data does not fit
[[nodiscard]] double accuracy(nn::Module& model, const TrainingData& data);

}  // namespace plab::parallel
