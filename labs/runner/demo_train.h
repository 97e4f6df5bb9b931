#pragma once
// SPDX-License-Identifier: Apache-2.0
// One training of the demo: processes that share a network and update it without locks (Hogwild,
// Niu et al., NIPS 2011).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "demo_options.h"
#include "plab/base/error.h"
#include "plab/data/dataset.h"
#include "plab/os/signals.h"

namespace plab::lab {

/// The weights of the network in - hidden - classes, as torch.nn.Sequential names them.
struct Network {
  Tensor weight0{};  ///< [hidden, in]
  Tensor bias0{};    ///< [hidden]
  Tensor weight2{};  ///< [classes, hidden]
  Tensor bias2{};    ///< [classes]

  /// PyTorch's first weights for Linear: uniform in +-1/sqrt(in).
  [[nodiscard]] static Network make(std::int64_t in, std::int64_t hidden, std::int64_t classes,
                                    std::uint64_t seed);
  void share_memory() const;
  [[nodiscard]] Tensor forward(const Tensor& x) const;
  [[nodiscard]] std::vector<Tensor> parameters() const { return {weight0, bias0, weight2, bias2}; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(weight0, bias0, weight2, bias2);
  }
};

/// The part of the samples whose class has the largest output.
[[nodiscard]] double accuracy(const Network& network, const data::TensorDataset& data);

/// Where a worker stands.
struct RankState {
  int pid = 0;
  std::int64_t steps = 0;
  std::int64_t steps_wanted = 0;
  float loss = 0;
};

/// What a training gave, also when it was interrupted.
struct RunResult {
  Network network{};
  std::vector<std::vector<float>> curves{};  ///< by rank: mean loss of each epoch that it finished
  std::int64_t steps = 0;                    ///< of all ranks
  double seconds = 0;        ///< from the common start to the last step of the slowest rank
  double start_seconds = 0;  ///< until all processes were ready
  std::int64_t updates = 0;  ///< additions to the elements of the witness
  /// Of them, those that another process overwrote. Nothing when it cannot be told: float32 counts
  /// to 2^24, and a worker that was stopped in its step leaves the counts apart.
  std::optional<std::int64_t> lost{};
  bool interrupted = false;  ///< by the flag; the rest holds what was reached
};

/// A worker ended by a signal or by itself before its work was done.
class WorkerDied : public Error {
 public:
  using Error::Error;
};

/// Called about ten times a second with the state of every rank.
using Watch = std::function<void(const std::vector<RankState>&)>;

/// Trains a new network with `processes` workers. All of them start from the same weights, and one
/// epoch is the same batches whatever their number: rank r takes the batches r, r + N, r + 2N ...
/// of an order that (seed, epoch) decides. So one process and N do the same work.
///
/// Every step also adds 1 to each element of a witness tensor, with the same unguarded stores with
/// which it changes the weights. What is missing in the end are lost updates.
///
/// @blocks until all workers have ended; when `interrupt` is raised they stop after their step
/// @throws WorkerDied when one was killed or threw; the others are ended first. ResourceError when
/// a
///         process or shared memory cannot be had
[[nodiscard]] RunResult train(const DemoOptions& options, int processes,
                              const data::TensorDataset& data, const os::InterruptFlag& interrupt,
                              const Watch& watch);

}  // namespace plab::lab
