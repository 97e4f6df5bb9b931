// SPDX-License-Identifier: Apache-2.0
#include "plab/parallel/hogwild.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "plab/base/error.h"
#include "plab/mp/context.h"
#include "plab/mp/spawn.h"
#include "plab/nn/layers.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/random.h"
#include "support/leak_audit.h"

namespace plab::parallel {
namespace {

// Four clouds around (+-2, +-2), which a small network tells apart.
TrainingData clouds(std::int64_t rows) {
  Generator generator(3);
  TrainingData data{Tensor::randn({rows, 2}, generator), Tensor::empty({rows}, DType::kI64)};
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t label = i % 4;
    float* const point = data.inputs.data<float>() + 2 * i;
    point[0] = 0.5F * point[0] + (label % 2 == 0 ? 2.0F : -2.0F);
    point[1] = 0.5F * point[1] + (label / 2 == 0 ? 2.0F : -2.0F);
    data.labels.data<std::int64_t>()[i] = label;
  }
  return data;
}

ModelSpec small() { return {.sizes = {2, 8, 4}, .seed = 11}; }

HogwildOptions options_for(int processes) {
  return {.processes = processes, .epochs = 10, .batch = 16, .lr = 0.2, .seed = 7};
}

// --- factories: free functions that each process finds in its own copy of the program -----------

class Dying final : public nn::Module {
 public:
  enum class How { kKill, kThrow, kHang };
  Dying(const ModelSpec& spec, How how) : how_(how), rank_(spec.rank) {
    net_ = register_module("net", make_mlp(spec));
  }
  Tensor forward(const Tensor& x) override {
    if (rank_ == 1 && ++calls_ == 5) {
      if (how_ == How::kKill) static_cast<void>(std::raise(SIGKILL));
      if (how_ == How::kThrow) throw std::runtime_error("bad step in rank 1");
    }
    if (how_ == How::kHang && rank_ == 0) {
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
    return net_->forward(x);
  }
  [[nodiscard]] std::string describe() const override { return "Dying"; }

 private:
  How how_;
  std::int32_t rank_;
  int calls_ = 0;
  std::shared_ptr<nn::Module> net_;
};

std::shared_ptr<nn::Module> make_killed(const ModelSpec& spec) {
  return std::make_shared<Dying>(spec, Dying::How::kKill);
}
std::shared_ptr<nn::Module> make_throwing(const ModelSpec& spec) {
  return std::make_shared<Dying>(spec, Dying::How::kThrow);
}
std::shared_ptr<nn::Module> make_hanging(const ModelSpec& spec) {
  return std::make_shared<Dying>(spec, Dying::How::kHang);
}
// A Ctrl-C that reaches rank 1 before it can block it.
std::shared_ptr<nn::Module> make_interrupted(const ModelSpec& spec) {
  if (spec.rank == 1) {
    static_cast<void>(std::signal(SIGINT, SIG_DFL));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    static_cast<void>(std::raise(SIGINT));
  }
  return make_mlp(spec);
}
std::shared_ptr<nn::Module> make_nothing(const ModelSpec& /*spec*/) { return nullptr; }
std::shared_ptr<nn::Module> make_uneven(const ModelSpec& spec) {
  return spec.rank < 0 ? make_mlp(spec) : make_mlp({.sizes = {2, 4}, .seed = 1});
}
std::shared_ptr<nn::Module> make_with_dropout(const ModelSpec& spec) {
  Generator generator(spec.seed);
  const Generator own(spec.seed, static_cast<std::uint32_t>(spec.rank + 1), 1);
  return std::make_shared<nn::Sequential>(nn::Linear(2, 16, generator), nn::Tanh(),
                                          nn::Dropout(0.1, own), nn::Linear(16, 4, generator));
}

// What the exception of a process says.
std::string raised_text(const std::function<HogwildResult()>& train) {
  try {
    static_cast<void>(train());
  } catch (const mp::ProcessRaised& error) {
    return error.message();
  }
  return "nothing was raised";
}

TEST_CASE("one process learns, and its figures add up", "[parallel][hogwild]") {
  const test::LeakAudit audit;
  {
    const TrainingData data = clouds(203);
    const HogwildResult result = hogwild(make_mlp, small(), data, options_for(1));
    CHECK(accuracy(*result.model, data) > 0.95);
    CHECK(result.steps == 10 * 13);  // 203 rows in batches of 16
    CHECK_FALSE(result.stopped);
    REQUIRE(result.workers.size() == 1);
    CHECK(result.workers[0].progress.steps == result.workers[0].progress.steps_wanted);
    const auto& curve = result.workers[0].curve;
    REQUIRE(curve.size() > 10);
    CHECK(curve.back().step == 130);
    CHECK(curve.back().loss < 0.5 * curve.front().loss);
    CHECK(std::is_sorted(curve.begin(), curve.end(),
                         [](const auto& a, const auto& b) { return a.seconds < b.seconds; }));
    CHECK(result.train_seconds > 0);
    CHECK(result.seconds >= result.train_seconds);
    CHECK(result.lost_updates.lost == 0);  // nobody else writes
    CHECK(result.lost_updates.checked > 0);
    CHECK(result.lost_updates.stores == 130 * (2 * 8 + 8 + 8 * 4 + 4));
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("three processes share the batches, by every start method", "[parallel][hogwild]") {
  for (const auto method :
       {mp::StartMethod::kFork, mp::StartMethod::kSpawn, mp::StartMethod::kForkServer}) {
    INFO(mp::name_of(method));
    const TrainingData data = clouds(203);
    HogwildOptions options = options_for(3);
    options.start_method = method;
    options.momentum = 0.5;
    const HogwildResult result = hogwild(make_mlp, small(), data, options);
    CHECK(accuracy(*result.model, data) > 0.95);
    CHECK(result.steps == 130);
    CHECK(result.workers.at(0).progress.steps == 50);  // batches 0, 3, 6, 9, 12
    CHECK(result.workers.at(2).progress.steps == 40);
    CHECK(data.inputs.is_shared());
    for (const Tensor& p : result.model->parameters()) CHECK(p.is_shared());
  }
}

TEST_CASE("a single process gives the same model each time", "[parallel][hogwild]") {
  const TrainingData data = clouds(64);
  const auto first = hogwild(make_mlp, small(), data, options_for(1)).model->parameters();
  const auto again = hogwild(make_mlp, small(), data, options_for(1)).model->parameters();
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].to_vector<float>() == again[i].to_vector<float>());
  }
}

TEST_CASE("progress is seen while the processes train", "[parallel][hogwild]") {
  const TrainingData data = clouds(400);
  HogwildOptions options = options_for(2);
  options.epochs = 200;
  options.progress_every = std::chrono::milliseconds(1);
  std::vector<std::vector<WorkerProgress>> seen;
  options.progress = [&](const std::vector<WorkerProgress>& all) { seen.push_back(all); };
  const HogwildResult result = hogwild(make_mlp, small(), data, options);
  REQUIRE(seen.size() >= 2);
  CHECK(seen.back().at(0).steps + seen.back().at(1).steps == result.steps);
  for (std::size_t i = 1; i < seen.size(); ++i) CHECK(seen[i][1].steps >= seen[i - 1][1].steps);
}

TEST_CASE("a stop ends all processes and returns what there is", "[parallel][hogwild]") {
  const test::LeakAudit audit;
  {
    const TrainingData data = clouds(400);
    std::atomic<bool> stop{false};
    HogwildOptions options = options_for(2);
    options.epochs = 1'000'000;
    options.stop = &stop;
    options.progress_every = std::chrono::milliseconds(1);
    options.progress = [&](const std::vector<WorkerProgress>& all) {
      if (all[0].steps > 50 && all[1].steps > 50) stop = true;
    };
    const HogwildResult result = hogwild(make_mlp, small(), data, options);
    CHECK(result.stopped);
    CHECK(result.steps > 100);
    CHECK(result.steps < result.workers[0].progress.steps_wanted);
    CHECK_FALSE(result.workers[0].curve.empty());
    CHECK(result.workers[0].lost_updates.checked > 0);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("a process that does not stop in time is ended by force", "[parallel][hogwild]") {
  const test::LeakAudit audit;
  {
    std::atomic<bool> stop{true};
    HogwildOptions options = options_for(2);
    options.stop = &stop;
    options.stop_grace = std::chrono::milliseconds(300);
    CHECK_THROWS_AS(hogwild(make_hanging, small(), clouds(64), options), TimeoutError);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("when a process is killed the others are ended and the signal is named",
          "[parallel][hogwild]") {
  const test::LeakAudit audit;
  for (const auto method : {mp::StartMethod::kFork, mp::StartMethod::kSpawn}) {
    HogwildOptions options = options_for(3);
    options.epochs = 1'000'000;
    options.start_method = method;
    int rank = -1;
    std::string signal;
    try {
      static_cast<void>(hogwild(make_killed, small(), clouds(200), options));
    } catch (const mp::ProcessExited& error) {
      rank = error.rank();
      signal = error.signal_name();
    }
    CHECK(rank == 1);
    CHECK(signal == "SIGKILL");
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("a process that Ctrl-C ends before the start stops the others", "[parallel][hogwild]") {
  const test::LeakAudit audit;
  for (const int processes : {2, 3}) {
    HogwildOptions options = options_for(processes);
    options.epochs = 1'000'000;
    const HogwildResult result = hogwild(make_interrupted, small(), clouds(200), options);
    CHECK(result.stopped);
    CHECK(result.steps == 0);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("an exception of a process arrives with its text", "[parallel][hogwild]") {
  HogwildOptions options = options_for(2);
  options.epochs = 1'000'000;
  const std::string text =
      raised_text([&] { return hogwild(make_throwing, small(), clouds(200), options); });
  CHECK(text == "bad step in rank 1");
}

TEST_CASE("a label out of range ends the training with its row", "[parallel][hogwild]") {
  const TrainingData data = clouds(64);
  data.labels.data<std::int64_t>()[33] = 4;
  const std::string text =
      raised_text([&] { return hogwild(make_mlp, small(), data, options_for(2)); });
  CHECK(text.find("label 4 is outside 0 to 3") != std::string::npos);
}

TEST_CASE("a factory that gives another form in the processes is refused", "[parallel][hogwild]") {
  const std::string text =
      raised_text([&] { return hogwild(make_uneven, small(), clouds(64), options_for(1)); });
  CHECK(text.find("made 2 tensors in rank 0, 4 in the parent") != std::string::npos);
}

TEST_CASE("a model with state of its own per process trains", "[parallel][hogwild]") {
  const TrainingData data = clouds(203);
  const HogwildResult result = hogwild(make_with_dropout, {.seed = 4}, data, options_for(2));
  CHECK(accuracy(*result.model, data) > 0.95);
  CHECK(result.model->is_training());  // accuracy() put the mode back
}

TEST_CASE("floating labels are fitted by least squares", "[parallel][hogwild]") {
  Generator generator(5);
  const Tensor x = Tensor::randn({100, 3}, generator);
  const Tensor w = Tensor::of<float>({1, -2, 0.5F}).view({1, 3});
  const HogwildOptions options{.processes = 2, .epochs = 60, .batch = 16, .lr = 0.1};
  const HogwildResult result =
      hogwild(make_mlp, {.sizes = {3, 1}, .seed = 2}, {x, linear(x, w, Tensor())}, options);
  CHECK(allclose(result.model->parameters()[0].detach(), w, 0, 1e-2));
}

TEST_CASE("bad options and data are refused before a process starts", "[parallel][hogwild]") {
  const TrainingData data = clouds(8);
  const auto refused = [&](auto change) {
    HogwildOptions options = options_for(1);
    change(options);
    CHECK_THROWS_AS(hogwild(make_mlp, small(), data, options), ContractError);
  };
  refused([](HogwildOptions& o) { o.processes = 0; });
  refused([](HogwildOptions& o) { o.epochs = -1; });
  refused([](HogwildOptions& o) { o.batch = 0; });
  refused([](HogwildOptions& o) { o.lr = -1; });
  refused([](HogwildOptions& o) { o.probe.every = -2; });
  CHECK_THROWS_AS(hogwild(nullptr, small(), data, options_for(1)), ContractError);
  CHECK_THROWS_AS(hogwild(make_nothing, small(), data, options_for(1)), ContractError);
  CHECK_THROWS_AS(hogwild(make_mlp, {.sizes = {2}}, data, options_for(1)), ContractError);
  CHECK_THROWS_AS(hogwild(make_mlp, small(), {data.inputs, Tensor()}, options_for(1)), ShapeError);
  CHECK_THROWS_AS(
      hogwild(make_mlp, small(), {data.inputs, data.labels.narrow(0, 0, 7)}, options_for(1)),
      ShapeError);
  CHECK_THROWS_AS(
      hogwild(make_mlp, small(), {data.inputs.narrow(0, 0, 0), data.labels.narrow(0, 0, 0)},
              options_for(1)),
      ShapeError);
}

TEST_CASE("no epoch leaves the model as the factory made it; more processes than batches is fine",
          "[parallel][hogwild]") {
  const TrainingData data = clouds(8);
  HogwildOptions options = options_for(3);
  options.epochs = 0;
  const HogwildResult none = hogwild(make_mlp, small(), data, options);
  CHECK(none.steps == 0);
  CHECK(equal(none.model->parameters()[0].detach(), make_mlp(small())->parameters()[0].detach()));
  options.epochs = 2;
  const HogwildResult one = hogwild(make_mlp, small(), data, options);  // one batch an epoch
  CHECK(one.workers[0].progress.steps == 2);
  CHECK(one.workers[2].progress.steps == 0);
}

}  // namespace
}  // namespace plab::parallel
