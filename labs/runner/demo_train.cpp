// SPDX-License-Identifier: Apache-2.0
#include "demo_train.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "demo_worker.h"
#include "plab/base/timeline.h"
#include "plab/mp/process.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/random.h"

namespace plab::lab {

using namespace std::chrono_literals;

namespace {

constexpr auto kTick = 50ms;

Tensor first_weights(const Shape& shape, std::int64_t in, Generator& generator) {
  const Tensor weights = Tensor::empty(shape);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weights.uniform_(-bound, bound, generator);
  return weights;
}

// The workers of one training; whoever is left is ended when it goes.
class Workers {
 public:
  Workers(const DemoOptions& options, const WorkerJob& job) : job_(job), board_(job.board) {
    for (int rank = 0; rank < job.processes; ++rank) {
      const mp::ProcessOptions each{.name = fmt::format("rank {} of {}", rank, job.processes),
                                    .start_method = options.start_method,
                                    .print_errors = mp::PrintErrors::kNo};
      workers_.emplace_back(each, train_rank, rank, job);
    }
  }

  void start() {
    const timeline::Span span("start processes");
    for (mp::Process& worker : workers_) worker.start();
  }

  [[nodiscard]] bool all_ready() const {
    for (int rank = 0; rank < job_.processes; ++rank) {
      if (!board_.is_ready(rank)) return false;
    }
    return true;
  }

  // Waits a moment; true when all have ended well.
  bool wait() {
    bool all = true;
    for (int rank = 0; rank < job_.processes; ++rank) {
      mp::Process& worker = workers_[static_cast<std::size_t>(rank)];
      const auto code = worker.exitcode();
      if (code && *code != 0) died(rank, worker, *code);
      all = all && code.has_value();
    }
    if (all) return true;
    for (mp::Process& worker : workers_) {
      if (worker.is_alive()) {
        worker.join(Deadline::after(kTick));
        return false;
      }
    }
    return false;
  }

  // Lets them finish their step; who does not within a second is ended.
  void stop() {
    board_.give(Board::Order::kStop);
    const Deadline gentle = Deadline::after(1s);
    for (mp::Process& worker : workers_) {
      if (!worker.join(gentle)) worker.kill();
    }
    for (mp::Process& worker : workers_) worker.join(Deadline::after(5s));
  }

  [[nodiscard]] std::vector<RankState> states() const {
    std::vector<RankState> states;
    for (int rank = 0; rank < job_.processes; ++rank) {
      states.push_back(RankState{.pid = workers_[static_cast<std::size_t>(rank)].pid(),
                                 .steps = board_.steps(rank),
                                 .steps_wanted = steps_of(job_, rank),
                                 .loss = board_.loss(rank)});
    }
    return states;
  }

 private:
  [[noreturn]] void died(int rank, mp::Process& worker, int code) {
    std::string how;
    if (const auto error = worker.error()) {
      how = fmt::format("threw {}: {}", error->type(), error->message());
    } else if (code < 0) {
      how = fmt::format("was killed by {}", worker.signal_name());
    } else {
      how = fmt::format("exited with code {}", code);
    }
    const std::string message = fmt::format(
        "[demo.train] rank {} (pid {}) {} after {} of {} steps; the other processes "
        "were ended",
        rank, worker.pid(), how, board_.steps(rank), steps_of(job_, rank));
    for (mp::Process& other : workers_) {
      if (other.is_alive()) other.kill();
    }
    for (mp::Process& other : workers_) other.join(Deadline::after(5s));
    throw WorkerDied(message);
  }

  const WorkerJob& job_;
  Board board_;
  std::vector<mp::Process> workers_;
};

void collect(const WorkerJob& job, std::int64_t go_ns, RunResult& result) {
  const Board board(job.board);
  std::int64_t last = go_ns;
  for (int rank = 0; rank < job.processes; ++rank) {
    result.steps += board.steps(rank);
    last = std::max(last, board.end(rank));
    std::vector<float> curve = job.curves[rank].to_vector<float>();
    const auto open = std::ranges::find_if(curve, [](float loss) { return loss == kNoLoss; });
    curve.erase(open, curve.end());
    result.curves.push_back(std::move(curve));
  }
  result.seconds = static_cast<double>(last - go_ns) / 1e9;
  result.updates = result.steps * job.witness.numel();
  if (result.interrupted || result.steps >= (std::int64_t{1} << 24U)) return;
  const double witnessed = sum(job.witness.to(DType::kF64)).item<double>();
  result.lost = result.updates - static_cast<std::int64_t>(std::llround(witnessed));
}

}  // namespace

Network Network::make(std::int64_t in, std::int64_t hidden, std::int64_t classes,
                      std::uint64_t seed) {
  Generator generator(seed);
  Network network;
  network.weight0 = first_weights(Shape{hidden, in}, in, generator);
  network.bias0 = first_weights(Shape{hidden}, in, generator);
  network.weight2 = first_weights(Shape{classes, hidden}, hidden, generator);
  network.bias2 = first_weights(Shape{classes}, hidden, generator);
  return network;
}

void Network::share_memory() const {
  for (const Tensor& parameter : parameters()) parameter.share_memory();
}

Tensor Network::forward(const Tensor& x) const {
  return linear(relu(linear(x, weight0, bias0)), weight2, bias2);
}

double accuracy(const Network& network, const data::TensorDataset& data) {
  const NoGrad off;
  const Tensor right = eq(argmax(network.forward(data.features), 1), data.labels);
  return mean(right.to(DType::kF64)).item<double>();
}

RunResult train(const DemoOptions& options, int processes, const data::TensorDataset& data,
                const os::InterruptFlag& interrupt, const Watch& watch) {
  RunResult result;
  const std::int64_t began = monotonic_ns();
  const WorkerJob job = make_job(options, processes, data);
  result.network = job.network;
  Workers workers(options, job);
  workers.start();
  std::int64_t go_ns = 0;
  const Board board(job.board);
  while (!workers.wait()) {
    if (interrupt.raised()) {
      workers.stop();
      result.interrupted = true;
      break;
    }
    if (go_ns == 0 && workers.all_ready()) {
      go_ns = monotonic_ns();
      result.start_seconds = static_cast<double>(go_ns - began) / 1e9;
      board.give(Board::Order::kGo);
    }
    watch(workers.states());
  }
  if (!result.interrupted) watch(workers.states());
  collect(job, go_ns == 0 ? monotonic_ns() : go_ns, result);
  return result;
}

}  // namespace plab::lab
