// SPDX-License-Identifier: Apache-2.0
#include "demo_worker.h"

#include <algorithm>
#include <csignal>

#include "plab/base/timeline.h"
#include "plab/nn/loss.h"
#include "plab/nn/optim.h"
#include "plab/os/timeline_store.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/random.h"

namespace plab::lab {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kWitness = 1024;
// The first epochs show every step in the timeline; of the rest only the epochs, so that the ring
// holds all of them.
constexpr std::int32_t kDetailedEpochs = 2;

std::int64_t batches_of(const WorkerJob& job) {
  return (job.features.size(0) + job.batch - 1) / job.batch;
}

class Trainer {
 public:
  Trainer(int rank, const WorkerJob& job)
      : rank_(rank),
        job_(job),
        board_(job.board),
        ones_(Tensor::ones(Shape{kWitness})),
        optimizer_(trained(job.network), nn::SGDOptions{.lr = job.lr}) {}

  // False when the board says stop.
  bool epoch(std::int32_t number) {
    const timeline::Span span(fmt::format("epoch {}", number), 0, number);
    detailed_ = timeline::enabled() && number < kDetailedEpochs;
    Generator generator(job_.seed, static_cast<std::uint32_t>(number), 1);
    const Tensor order = Tensor::randperm(job_.features.size(0), generator);
    double total = 0;
    std::int64_t steps = 0;
    for (std::int64_t batch = rank_; batch < batches_of(job_); batch += job_.processes) {
      if (board_.order() == Board::Order::kStop) return false;
      const std::int64_t first = batch * job_.batch;
      total += step(order.slice(0, first, std::min(first + job_.batch, order.size(0))));
      ++steps;
    }
    if (steps > 0) {
      job_.curves.data<float>()[rank_ * job_.epochs + number] =
          static_cast<float>(total / static_cast<double>(steps));
    }
    return true;
  }

 private:
  static std::vector<Tensor> trained(const Network& network) {
    for (const Tensor& parameter : network.parameters()) parameter.requires_grad_();
    return network.parameters();
  }

  double step(const Tensor& rows) {
    const Tensor x = index_select(job_.features, 0, rows);
    const Tensor labels = index_select(job_.labels, 0, rows);
    const std::int64_t began = detailed_ ? monotonic_ns() : 0;
    const Tensor loss = nn::cross_entropy(job_.network.forward(x), labels);
    const std::int64_t forward = detailed_ ? monotonic_ns() : 0;
    optimizer_.zero_grad();
    loss.backward();
    const std::int64_t backward = detailed_ ? monotonic_ns() : 0;
    optimizer_.step();
    job_.witness.add_(ones_);
    const auto value = loss.item<float>();
    board_.count_step(rank_, value);
    if (detailed_) {
      show("forward", began, forward);
      show("backward", forward, backward);
      show("update", backward, monotonic_ns());
    }
    return static_cast<double>(value);
  }

  static void show(std::string_view label, std::int64_t from, std::int64_t to) {
    timeline::record({.kind = timeline::Kind::kSpan,
                      .label = label,
                      .start_ns = from,
                      .duration_ns = to - from});
  }

  int rank_;
  const WorkerJob& job_;
  Board board_;
  Tensor ones_;
  nn::SGD optimizer_;
  bool detailed_ = false;
};

}  // namespace

WorkerJob make_job(const DemoOptions& options, int processes, const data::TensorDataset& data) {
  WorkerJob job{.processes = processes,
                .epochs = options.epochs,
                .batch = std::min<std::int64_t>(options.batch, data.size()),
                .lr = options.lr,
                .seed = options.seed,
                .features = data.features,
                .labels = data.labels,
                .network = Network::make(data.width(), options.hidden, data.classes, options.seed),
                .witness = Tensor::zeros(Shape{kWitness}),
                .board = Board::make(processes),
                .curves = Tensor::full(Shape{processes, options.epochs}, kNoLoss)};
  job.features.share_memory();
  job.labels.share_memory();
  job.network.share_memory();
  job.witness.share_memory();
  job.curves.share_memory();
  return job;
}

std::int64_t steps_of(const WorkerJob& job, int rank) {
  const std::int64_t batches = batches_of(job);
  return (batches - rank + job.processes - 1) / job.processes * job.epochs;
}

void train_rank(int rank, WorkerJob job) {
  // Ctrl-C in a terminal reaches every process; the parent decides what it means.
  static_cast<void>(std::signal(SIGINT, SIG_IGN));
  if (!timeline::enabled()) static_cast<void>(os::start_timeline_from_environment());
  timeline::name_process(fmt::format("rank {} of {}", rank, job.processes));
  set_num_threads(1);
  const Board board(job.board);
  Trainer trainer(rank, job);
  board.set_ready(rank);
  {
    const timeline::Span span("wait for start");
    while (board.wait_for_order(Deadline::after(1s)) == Board::Order::kWait) {
    }
  }
  for (std::int32_t epoch = 0; epoch < job.epochs; ++epoch) {
    if (!trainer.epoch(epoch)) break;
  }
  board.set_end(rank, monotonic_ns());
  timeline::record_exit(0);
}

}  // namespace plab::lab
