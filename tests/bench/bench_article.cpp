// SPDX-License-Identifier: Apache-2.0
// The article's complete example: four spawned processes train one Linear(10, 2).
#include "bench/bench.h"
#include "bench/peers.h"
#include "plab/base/deadline.h"
#include "plab/mp/spawn.h"
#include "plab/nn/layers.h"
#include "plab/nn/loss.h"
#include "plab/nn/optim.h"
#include "plab/tensor/ops.h"

namespace plab::bench {

namespace {

constexpr std::int64_t kSamples = 1000;
constexpr std::int64_t kBatch = 32;

void train(int rank, Tensor weight, Tensor bias, Tensor data, Tensor labels) {
  Generator random(1, static_cast<std::uint32_t>(rank));
  nn::SGD optimizer({weight, bias}, {.lr = 0.01});
  const nn::CrossEntropyLoss criterion;
  for (int epoch = 0; epoch < 10; ++epoch) {
    const Tensor order = Tensor::randperm(kSamples, random);
    for (std::int64_t first = 0; first < kSamples; first += kBatch) {
      const Tensor batch = order.slice(0, first, first + kBatch);
      optimizer.zero_grad();
      const Tensor outputs = linear(index_select(data, 0, batch), weight, bias);
      criterion(outputs, index_select(labels, 0, batch)).backward();
      optimizer.step();
    }
  }
}

double article_s() {
  const auto start = monotonic_ns();
  Generator random(3);
  nn::Linear model(10, 2, random);
  const Tensor data = Tensor::randn({kSamples, 10}, random);
  const Tensor labels = Tensor::randint(0, 2, {kSamples}, random);
  model.share_memory();
  mp::spawn(train, std::tuple(model.weight(), model.bias(), data, labels), 4);
  return static_cast<double>(monotonic_ns() - start) * 1e-9;
}

}  // namespace

void bench_article(std::vector<Row>& rows) {
  double best = article_s();
  for (int round = 1; round < 5; ++round) best = std::min(best, article_s());
  const auto torch = torch_figures("article");
  rows.push_back({.name = "the article's example, four processes, end to end",
                  .value = best,
                  .unit = "s",
                  .peer = "torch",
                  .peer_value = torch ? std::optional(torch->at("seconds")) : std::nullopt,
                  .goal = {Rule::kValueAtMost, 0.1}});
}

}  // namespace plab::bench
