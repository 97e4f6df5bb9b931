// SPDX-License-Identifier: Apache-2.0
#include "plab/parallel/hogwild_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>

#include "plab/base/deadline.h"
#include "plab/base/error.h"
#include "plab/base/timeline.h"
#include "plab/nn/loss.h"
#include "plab/os/signals.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/random.h"

namespace plab::parallel {

namespace {

// The timeline shows the parts of each step of the first epochs, and of the others only the epoch:
// the ring then holds a whole training.
constexpr std::int32_t kDetailedEpochs = 2;

// The model of this process: made by the factory, on the shared parameters.
std::shared_ptr<nn::Module> open_model(const HogwildJob& job, int rank) {
  const auto factory = reinterpret_cast<ModelFactory>(mp::resolve(job.factory));
  ModelSpec spec = job.spec;
  spec.rank = rank;
  auto model = factory(spec);
  if (model == nullptr) throw ContractError("[parallel.hogwild] the model factory gave no model");
  nn::Module::Named own = model->named_parameters();
  for (auto& buffer : model->named_buffers()) own.push_back(std::move(buffer));
  if (own.size() != job.state.size()) {
    throw ContractError(
        fmt::format("[parallel.hogwild] the model factory made {} tensors in rank {}, {} in the "
                    "parent; it has to make the same form each time",
                    own.size(), rank, job.state.size()));
  }
  for (std::size_t i = 0; i < own.size(); ++i) own[i].second.set_data(job.state[i].second);
  return model;
}

class Trainer {
 public:
  Trainer(int rank, const HogwildJob& job)
      : rank_(rank),
        job_(job),
        model_(open_model(job, rank)),
        // Streams of their own: (seed, rank) as everywhere.
        optimizer_(model_->parameters(),
                   {.lr = job.lr, .momentum = job.momentum, .weight_decay = job.weight_decay},
                   {.every = job.probe_every,
                    .probes = job.probes,
                    .seed = job.seed + static_cast<std::uint64_t>(rank)}),
        wanted_(steps_of(job, rank)) {
    job_.board.set(rank_, HogwildBoard::kWanted, wanted_);
  }

  void run() {
    for (std::int32_t epoch = 0; epoch < job_.epochs; ++epoch) {
      if (!run_epoch(epoch)) break;
    }
    end_point();
    publish();
    job_.board.set(rank_, HogwildBoard::kEnd, monotonic_ns());
  }

 private:
  // False when the board says stop.
  bool run_epoch(std::int32_t number) {
    const timeline::Span span(fmt::format("epoch {}", number), 0, number);
    detailed_ = number < kDetailedEpochs && timeline::enabled();
    // The same permutation in every process: it depends on the epoch, not on the rank.
    Generator generator(job_.seed, static_cast<std::uint32_t>(number), 1);
    const Tensor order = Tensor::randperm(job_.inputs.size(0), generator);
    const int processes = job_.board.processes();
    for (std::int64_t b = rank_; b < batches_of(job_); b += processes) {
      if (job_.board.is_stopped()) return false;
      const std::int64_t first = b * job_.batch;
      step(order.slice(0, first, std::min(first + job_.batch, order.size(0))));
    }
    return true;
  }

  void step(const Tensor& rows) {
    const std::int64_t began = detailed_ ? monotonic_ns() : 0;
    const Tensor x = index_select(job_.inputs, 0, rows);
    const Tensor y = index_select(job_.labels, 0, rows);
    optimizer_.zero_grad();
    const Tensor output = (*model_)(x);
    const Tensor loss =
        is_floating(y.dtype()) ? nn::mse_loss(output, y) : nn::cross_entropy(output, y);
    const std::int64_t forward = show("forward", began);
    loss.backward();
    const std::int64_t backward = show("backward", forward);
    optimizer_.step();
    show("update", backward);
    note(loss.dtype() == DType::kF32 ? loss.item<float>()
                                     : static_cast<float>(loss.item<double>()));
  }

  // The part of a step that began at `from` and ends now; returns now.
  std::int64_t show(std::string_view label, std::int64_t from) const noexcept {
    if (!detailed_) return 0;
    const std::int64_t now = monotonic_ns();
    timeline::record({.kind = timeline::Kind::kSpan,
                      .label = label,
                      .start_ns = from,
                      .duration_ns = now - from});
    return now;
  }

  void note(float loss) {
    ++steps_;
    sum_ += static_cast<double>(loss);
    ++summed_;
    job_.board.set(rank_, HogwildBoard::kSteps, steps_);
    job_.board.set(rank_, HogwildBoard::kLoss, std::bit_cast<std::int32_t>(loss));
    const std::int64_t part =
        steps_ * HogwildBoard::kMostPoints / std::max<std::int64_t>(wanted_, 1);
    if (part == part_) return;
    part_ = part;
    end_point();
    publish();
  }

  void end_point() {
    if (summed_ == 0) return;
    const double seconds = static_cast<double>(monotonic_ns() - job_.board.start_ns()) / 1e9;
    job_.board.add_point(rank_, {seconds, steps_, sum_ / static_cast<double>(summed_)});
    sum_ = 0;
    summed_ = 0;
  }

  void publish() const {
    const LostUpdates& counts = optimizer_.lost_updates();
    job_.board.set(rank_, HogwildBoard::kChecked, counts.checked);
    job_.board.set(rank_, HogwildBoard::kLost, counts.lost);
    job_.board.set(rank_, HogwildBoard::kStores, counts.stores);
  }

  int rank_;
  const HogwildJob& job_;
  std::shared_ptr<nn::Module> model_;
  ProbedSgd optimizer_;
  std::int64_t wanted_;
  std::int64_t steps_ = 0;
  std::int64_t part_ = 0;
  bool detailed_ = false;
  double sum_ = 0;
  std::int64_t summed_ = 0;
};

}  // namespace

std::int64_t batches_of(const HogwildJob& job) {
  return (job.inputs.size(0) + job.batch - 1) / job.batch;
}

std::int64_t steps_of(const HogwildJob& job, int rank) {
  const std::int64_t processes = job.board.processes();
  return (batches_of(job) - rank + processes - 1) / processes * job.epochs;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): what travelled to a process belongs to it
void run_hogwild_worker(int rank, HogwildJob job) {
  // Ctrl-C in a terminal reaches every process; the parent decides what it means.
  const os::SignalBlock no_interrupt({SIGINT});
  timeline::name_process(fmt::format("rank {} of {}", rank, job.board.processes()));
  set_num_threads(1);
  Trainer trainer(rank, job);
  job.board.arrive();
  // No limit of its own: a process that never arrives has ended, and then the parent ends us.
  while (!job.board.is_open() && !job.board.is_stopped()) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  trainer.run();
}

}  // namespace plab::parallel
