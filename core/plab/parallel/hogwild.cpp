// SPDX-License-Identifier: Apache-2.0
#include "plab/parallel/hogwild.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <tuple>
#include <utility>

#include "plab/base/deadline.h"
#include "plab/base/error.h"
#include "plab/mp/code_address.h"
#include "plab/mp/spawn.h"
#include "plab/nn/layers.h"
#include "plab/parallel/hogwild_worker.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

namespace plab::parallel {

namespace {

void check_data(const TrainingData& data) {
  if (!data.inputs.defined() || !data.labels.defined() || data.inputs.dim() < 1 ||
      data.labels.dim() < 1 || data.inputs.size(0) != data.labels.size(0) ||
      data.inputs.size(0) < 1) {
    const auto text = [](const Tensor& t) { return t.defined() ? t.sizes().str() : "undefined"; };
    throw ShapeError(
        fmt::format("[parallel.hogwild] inputs {} and labels {}: give as many labels as rows, and "
                    "at least one",
                    text(data.inputs), text(data.labels)));
  }
}

void check_options(const HogwildOptions& options) {
  if (options.processes < 1 || options.processes > 4096 || options.epochs < 0 ||
      options.batch < 1) {
    throw ContractError(
        fmt::format("[parallel.hogwild] {} processes, {} epochs, batches of {}; valid are 1 to "
                    "4096 processes, epochs from 0, batches from 1",
                    options.processes, options.epochs, options.batch));
  }
}

HogwildJob make_job(ModelFactory factory, const ModelSpec& spec, nn::Module& model,
                    const TrainingData& data, const HogwildOptions& options) {
  HogwildJob job;
  job.factory = mp::find_code_address(reinterpret_cast<std::uintptr_t>(factory));
  job.spec = spec;
  model.share_memory();
  for (const auto& [name, tensor] : model.named_parameters()) {
    job.state.emplace_back(name, tensor.detach());
  }
  for (const auto& [name, tensor] : model.named_buffers()) {
    job.state.emplace_back(name, tensor.detach());
  }
  job.inputs = data.inputs.detach();
  job.labels = data.labels.detach();
  job.inputs.share_memory();
  job.labels.share_memory();
  job.board = HogwildBoard::make(options.processes);
  job.epochs = options.epochs;
  job.batch = std::min(options.batch, data.inputs.size(0));
  job.lr = options.lr;
  job.momentum = options.momentum;
  job.weight_decay = options.weight_decay;
  job.probe_every = options.probe.every;
  job.probes = options.probe.probes;
  job.seed = options.seed;
  return job;
}

void report(const HogwildJob& job, const HogwildOptions& options) {
  if (!options.progress) return;
  std::vector<WorkerProgress> all;
  all.reserve(static_cast<std::size_t>(options.processes));
  for (int rank = 0; rank < options.processes; ++rank) all.push_back(job.board.progress(rank));
  options.progress(all);
}

// A Ctrl-C that came before a worker could block it has ended that worker (a good end, as join
// sees it): the others would wait for it at the start.
bool any_interrupted(mp::SpawnContext& context) {
  return std::ranges::any_of(context.processes(),
                             [](mp::Process& process) { return process.exitcode() == -SIGINT; });
}

// True when the training was stopped early.
bool wait_for_end(mp::SpawnContext& context, const HogwildJob& job, const HogwildOptions& options) {
  // Short, so that a stop is seen soon also when progress is asked for seldom.
  const auto tick =
      std::min<std::chrono::nanoseconds>(options.progress_every, std::chrono::milliseconds(50));
  std::optional<Deadline> forced;
  Deadline next = Deadline::after(options.progress_every);
  while (!context.join(Deadline::after(tick))) {
    const bool asked = options.stop != nullptr && options.stop->load();
    if (!forced && (asked || any_interrupted(context))) {
      job.board.stop();
      forced = Deadline::after(options.stop_grace);
    }
    if (forced && forced->expired()) {
      throw TimeoutError(
          "[parallel.hogwild] a process did not end after the stop; the processes are ended by "
          "force. Give a longer stop_grace when a step takes that long");
    }
    if (!next.expired()) continue;
    report(job, options);
    next = Deadline::after(options.progress_every);
  }
  report(job, options);
  return forced.has_value() || any_interrupted(context);
}

void collect(const HogwildJob& job, HogwildResult& result) {
  std::int64_t last = job.board.start_ns();
  for (int rank = 0; rank < job.board.processes(); ++rank) {
    result.workers.push_back(job.board.result(rank));
    result.steps += result.workers.back().progress.steps;
    result.lost_updates += result.workers.back().lost_updates;
    last = std::max(last, job.board.get(rank, HogwildBoard::kEnd));
  }
  if (job.board.start_ns() == 0) return;  // stopped before all were there
  result.train_seconds = static_cast<double>(last - job.board.start_ns()) / 1e9;
  if (result.train_seconds > 0) {
    result.steps_per_second = static_cast<double>(result.steps) / result.train_seconds;
  }
}

}  // namespace

std::shared_ptr<nn::Module> make_mlp(const ModelSpec& spec) {
  if (spec.sizes.size() < 2) {
    throw ContractError(
        fmt::format("[parallel.make_mlp] {} sizes; give at least those of input and output",
                    spec.sizes.size()));
  }
  Generator generator(spec.seed);
  auto net = std::make_shared<nn::Sequential>();
  for (std::size_t i = 0; i + 1 < spec.sizes.size(); ++i) {
    if (i > 0) net->push_back(std::make_shared<nn::ReLU>());
    net->push_back(std::make_shared<nn::Linear>(spec.sizes[i], spec.sizes[i + 1], generator));
  }
  return net;
}

HogwildResult hogwild(ModelFactory factory, const ModelSpec& spec, const TrainingData& data,
                      const HogwildOptions& options) {
  check_options(options);
  check_data(data);
  if (factory == nullptr) throw ContractError("[parallel.hogwild] no model factory was given");
  const std::int64_t began = monotonic_ns();
  HogwildResult result;
  result.model = factory(spec);
  if (result.model == nullptr) {
    throw ContractError("[parallel.hogwild] the model factory gave no model");
  }
  // Bad options for the optimizer are told here, not by every process.
  // NOLINTNEXTLINE(bugprone-unused-raii): made for its checks, not kept while others train
  ProbedSgd(result.model->parameters(),
            {.lr = options.lr, .momentum = options.momentum, .weight_decay = options.weight_decay},
            options.probe);
  const HogwildJob job = make_job(factory, spec, *result.model, data, options);
  mp::SpawnContext context = mp::start_processes(
      run_hogwild_worker, std::tuple(job), options.processes,
      {.start_method = options.start_method, .kill_after = std::chrono::seconds(2)});
  result.stopped = wait_for_end(context, job, options);
  collect(job, result);
  result.seconds = static_cast<double>(monotonic_ns() - began) / 1e9;
  return result;
}

double accuracy(nn::Module& model, const TrainingData& data) {
  check_data(data);
  const NoGrad no_grad;
  const bool was_training = model.is_training();
  model.eval();
  const Tensor right = eq(argmax(model(data.inputs), -1), data.labels);
  if (was_training) model.train();
  return mean(right.to(DType::kF64)).item<double>();
}

}  // namespace plab::parallel
