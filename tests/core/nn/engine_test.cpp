// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/engine.h"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <thread>
#include <vector>

#include "data.h"
#include "plab/base/error.h"
#include "plab/nn/layers.h"
#include "plab/nn/loss.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

namespace plab::nn {
namespace {

using testing::close;
using testing::f64;
using testing::leaf;
using testing::leaf_of;

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const ContractError& error) {
    return error.what();
  }
  return "nothing was thrown";
}
bool says(const std::function<void()>& run, const std::string& words) {
  return message_of(run).find(words) != std::string::npos;
}

TEST_CASE("gradients of several backwards add up", "[nn][engine]") {
  const Tensor a = leaf_of({1, -2});
  sum(a * 3).backward();
  sum(mul(a, a)).backward();
  CHECK(close(a.grad(), {3 + 2, 3 - 4}));
}

TEST_CASE("backward of something that is no scalar needs a gradient of its shape", "[nn][engine]") {
  const Tensor a = leaf({2, 3}, 1);
  CHECK(
      says([&] { (a * 2).backward(); }, "grad can be implicitly created only for scalar outputs"));
  CHECK_THROWS_AS((a * 2).backward(Tensor::ones({3, 2}, DType::kF64)), ShapeError);
  (a * 2).backward(Tensor::full({2, 3}, 0.5, DType::kF64));
  CHECK(close(a.grad(), {1, 1, 1, 1, 1, 1}));
  const Tensor one = leaf({1, 1}, 2);
  (one * 5).backward();  // one element is enough
  CHECK(close(one.grad(), {5}));
}

TEST_CASE("backward of a tensor without history is refused", "[nn][engine]") {
  CHECK(says([] { backward(Tensor::ones({})); }, "does not require grad"));
  CHECK_THROWS_AS(Tensor::ones({}).backward(), ContractError);
  const Tensor a = leaf_of({2});
  a.backward();  // a leaf is its own gradient's place
  CHECK(close(a.grad(), {1}));
}

TEST_CASE("a second backward over a freed graph is refused, a retained one goes", "[nn][engine]") {
  const Tensor a = leaf_of({1, 2});
  const Tensor loss = sum(mul(a, a));
  loss.backward();
  CHECK(says([&] { loss.backward(); }, "backward through the graph a second time"));
  CHECK(close(a.grad(), {2, 4}));
  const Tensor kept = sum(mul(a, a));
  backward(kept, Tensor(), Graph::kRetain);
  backward(kept, Tensor(), Graph::kRetain);
  CHECK(close(a.grad(), {6, 12}));
  const Tensor free = sum(a + 1);  // nothing is saved, so nothing is missing
  free.backward();
  free.backward();
  CHECK(close(a.grad(), {8, 14}));
}

TEST_CASE("the memory that an operation saved is freed by the backward", "[nn][engine]") {
  const Tensor a = leaf({2}, 3);
  std::optional<Tensor> b = exp(a.detach());
  const Tensor loss = sum(mul(a, *b));
  const Storage storage = b->storage();
  b.reset();
  CHECK(storage.use_count() == 2);
  loss.backward();
  CHECK(storage.use_count() == 1);
}

TEST_CASE("several roots are walked at once", "[nn][engine]") {
  const Tensor a = leaf_of({1, 2});
  const Tensor h = a * 3;
  const std::vector<Tensor> roots{sum(h), h * 2, h};
  const std::vector<Tensor> grads{Tensor(), f64({1, 10}), f64({100, 0})};
  backward(roots, grads);
  CHECK(close(a.grad(), {3 + 6 + 300, 3 + 60}));
  CHECK_THROWS_AS(backward(roots, std::span(grads).first(2)), ContractError);
}

TEST_CASE("the same root given twice counts twice", "[nn][engine]") {
  const Tensor a = leaf_of({2});
  const Tensor b = a * 3;
  backward(std::vector<Tensor>{b, b});
  CHECK(close(a.grad(), {6}));
}

TEST_CASE("a hook sees the complete gradient of its tensor and may replace it", "[nn][engine]") {
  const Tensor a = leaf_of({1, 2});
  const Tensor h = a * 2;
  std::vector<std::vector<double>> seen;
  h.register_hook([&](const Tensor& g) {
    seen.push_back(g.to_vector<double>());
    return g * 10;
  });
  h.register_hook([&](const Tensor& g) {
    seen.push_back(g.to_vector<double>());
    return Tensor();
  });
  const auto removed = h.register_hook([&](const Tensor&) -> Tensor {
    seen.emplace_back();
    return {};
  });
  h.remove_hook(removed);
  sum(add(h, h * 3)).backward();
  CHECK(seen == std::vector<std::vector<double>>{{4, 4}, {40, 40}});
  CHECK(close(a.grad(), {80, 80}));
}

TEST_CASE("the hook of an intermediate result runs when the tensor is gone", "[nn][engine]") {
  const Tensor a = leaf_of({3});
  int calls = 0;
  Tensor loss;
  {
    const Tensor h = a * 2;
    h.register_hook([&](const Tensor&) -> Tensor {
      ++calls;
      return {};
    });
    loss = sum(h);
  }
  loss.backward();
  CHECK(calls == 1);
}

TEST_CASE("the hook of a leaf sees this backward's gradient, before it is added", "[nn][engine]") {
  const Tensor a = leaf_of({1});
  a.set_grad(f64({100}));
  double seen = 0;
  a.register_hook([&](const Tensor& g) {
    seen = g.item<double>();
    return g * 2;
  });
  sum(add(a * 3, a * 4)).backward();
  CHECK(seen == 7);
  CHECK(close(a.grad(), {114}));
}

TEST_CASE("a hook that returns another shape is refused", "[nn][engine]") {
  const Tensor a = leaf({2, 3}, 4);
  a.register_hook([](const Tensor&) { return Tensor::ones({3, 2}, DType::kF64); });
  CHECK(says([&] { sum(a).backward(); }, "a hook returned a gradient of shape [3, 2]"));
}

// w2 is nearer to the loss than w1, as the layers of a network.
struct TwoLayers {
  Tensor x = Tensor::full({2, 3}, 0.5, DType::kF64);
  Tensor w1 = leaf({4, 3}, 5);
  Tensor w2 = leaf({2, 4}, 6);
  [[nodiscard]] Tensor loss() const {
    return sum(linear(tanh(linear(x, w1, Tensor())), w2, Tensor()));
  }
};

TEST_CASE("a leaf is ready, and its hooks run, while the rest of the backward goes on",
          "[nn][engine]") {
  const TwoLayers net;
  std::vector<std::string> order;
  net.w2.register_hook([&](const Tensor&) -> Tensor {
    order.emplace_back("w2 hook");
    return {};
  });
  register_post_accumulate_grad_hook(net.w2, [&](const Tensor& w) {
    CHECK(w.grad().defined());
    CHECK_FALSE(net.w1.grad().defined());  // not at the end of the backward
    order.emplace_back("w2 done");
    queue_callback([&] { order.emplace_back("end"); });
  });
  register_post_accumulate_grad_hook(net.w2, [&](const Tensor&) { order.emplace_back("w2 too"); });
  const Tensor h = linear(net.x, net.w1, Tensor());
  h.register_hook([&](const Tensor&) -> Tensor {
    order.emplace_back("h hook");
    return {};
  });
  register_post_accumulate_grad_hook(net.w1, [&](const Tensor&) { order.emplace_back("w1 done"); });
  sum(linear(tanh(h), net.w2, Tensor())).backward();
  CHECK(order ==
        std::vector<std::string>{"w2 hook", "w2 done", "w2 too", "h hook", "w1 done", "end"});
}

TEST_CASE("a leaf that is used in two places is ready once, after the last", "[nn][engine]") {
  const Tensor w = leaf({3, 3}, 7);
  const Tensor x = Tensor::ones({2, 3}, DType::kF64);
  int ready = 0;
  register_post_accumulate_grad_hook(w, [&](const Tensor&) { ++ready; });
  sum(linear(tanh(linear(x, w, Tensor())), w, Tensor())).backward();
  CHECK(ready == 1);
}

TEST_CASE("a post-accumulate hook can be removed and is only for leaves", "[nn][engine]") {
  const Tensor a = leaf_of({1});
  int calls = 0;
  const auto number = register_post_accumulate_grad_hook(a, [&](const Tensor&) { ++calls; });
  sum(a * 2).backward();
  remove_post_accumulate_grad_hook(a, number);
  sum(a * 2).backward();
  CHECK(calls == 1);
  const auto ignore = [](const Tensor&) {};
  CHECK_THROWS_AS(register_post_accumulate_grad_hook(a * 2, ignore), ContractError);
  CHECK_THROWS_AS(register_post_accumulate_grad_hook(Tensor::ones({1}), ignore), ContractError);
}

TEST_CASE("a gradient that is a view of a bucket stays one", "[nn][engine]") {
  const Tensor bucket = Tensor::zeros({10}, DType::kF64);
  const Tensor a = leaf_of({1, 2, 3});
  const Tensor b = leaf({2, 2}, 8);
  a.set_grad(bucket.narrow(0, 1, 3));
  b.set_grad(bucket.narrow(0, 5, 4).view({2, 2}));
  sum(a * 2).backward();
  sum(b * 3).backward();
  sum(a * 2).backward();
  CHECK(a.grad().storage().is_same(bucket.storage()));
  CHECK(close(bucket, {0, 4, 4, 4, 0, 3, 3, 3, 3, 0}));
}

TEST_CASE("callbacks run in order after the last node, and may queue more", "[nn][engine]") {
  const Tensor a = leaf_of({1});
  std::vector<int> order;
  a.register_hook([&](const Tensor&) -> Tensor {
    CHECK(in_backward());
    queue_callback([&] {
      CHECK(a.grad().defined());
      order.push_back(1);
      queue_callback([&] { order.push_back(3); });
    });
    queue_callback([&] { order.push_back(2); });
    return {};
  });
  sum(a).backward();
  CHECK(order == std::vector<int>{1, 2, 3});
  CHECK_FALSE(in_backward());
  CHECK_THROWS_AS(queue_callback([] {}), ContractError);
}

TEST_CASE("a hook that throws ends the backward and leaves the graph usable", "[nn][engine]") {
  const TwoLayers net;
  const Tensor loss = net.loss();
  const auto number =
      net.w1.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("bad hook"); });
  CHECK_THROWS_AS(backward(loss, Tensor(), Graph::kRetain), std::runtime_error);
  CHECK_FALSE(in_backward());
  net.w1.remove_hook(number);
  net.w2.set_grad(Tensor());
  backward(loss, Tensor(), Graph::kRetain);
  const auto first = net.w1.grad().to_vector<double>();
  net.w1.set_grad(Tensor());
  net.loss().backward();
  CHECK(net.w1.grad().to_vector<double>() == first);
}

TEST_CASE("a hook may run a backward over another graph, but not over its own", "[nn][engine]") {
  const Tensor a = leaf_of({1});
  const Tensor other = leaf_of({5});
  Tensor loss;
  a.register_hook([&](const Tensor&) -> Tensor {
    set_grad_enabled(true);  // it is off in a backward; the end of this one puts it back
    sum(mul(other, other)).backward();
    CHECK(says([&] { loss.backward(); }, "still running"));
    return {};
  });
  loss = sum(a * 2);
  loss.backward();
  CHECK(close(other.grad(), {10}));
  CHECK(close(a.grad(), {2}));
  loss = Tensor();
}

TEST_CASE("a backward that meets a running one in the middle leaves that one intact",
          "[nn][engine]") {
  const Tensor a = leaf_of({1});
  const Tensor shared = a * 2;
  const Tensor outer = shared * 3;
  const Tensor inner = sum(shared * 5);
  outer.register_hook([&](const Tensor&) -> Tensor {
    CHECK(says([&] { backward(inner, Tensor(), Graph::kRetain); }, "still running"));
    return {};
  });
  sum(outer).backward();
  CHECK(close(a.grad(), {6}));
  inner.backward();
  CHECK(close(a.grad(), {16}));
}

TEST_CASE("recording is off inside a backward and on again after it", "[nn][engine]") {
  const Tensor a = leaf_of({1});
  bool recorded = true;
  a.register_hook([&](const Tensor& g) {
    recorded = mul(a, g).requires_grad();
    return Tensor();
  });
  sum(a).backward();
  CHECK_FALSE(recorded);
  CHECK(grad_enabled());
}

TEST_CASE("the leaves that an output reaches are found", "[nn][engine]") {
  const Tensor a = leaf({2}, 9);
  const Tensor b = leaf({2}, 10);
  const Tensor unused = leaf({2}, 11);
  const Tensor fixed = Tensor::ones({2}, DType::kF64);
  const Tensor out = add(mul(a, fixed), mul(b, exp(a)));
  const std::vector<Tensor> outputs{out, fixed};
  const auto leaves = reachable_leaves(outputs);
  REQUIRE(leaves.size() == 2);
  CHECK((leaves[0].is_same(a) || leaves[1].is_same(a)));
  CHECK((leaves[0].is_same(b) || leaves[1].is_same(b)));
  CHECK(reachable_leaves(std::span<const Tensor>()).empty());
  const std::vector<Tensor> self{a};
  CHECK(reachable_leaves(self).at(0).is_same(a));
}

TEST_CASE("threads run backwards of their own at the same time", "[nn][engine][threads]") {
  std::vector<double> results(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < results.size(); ++t) {
      threads.emplace_back([&results, t] {
        const Tensor w = leaf_of({static_cast<double>(t) + 1});
        for (int i = 0; i < 200; ++i) sum(mul(w, exp(w * 0))).backward();
        results[t] = w.grad().item<double>();
      });
    }
  }
  CHECK(results == std::vector<double>(4, 200));
}

TEST_CASE("a network learns a small task", "[nn][engine]") {
  Generator generator(12);
  Sequential net(Linear(2, 8, generator, Bias::kYes, DType::kF64), Tanh(),
                 Linear(8, 2, generator, Bias::kYes, DType::kF64));
  const std::vector<double> points{0, 0, 0, 1, 1, 0, 1, 1};
  const Tensor x = Tensor::of<double>(points, {4, 2});
  const Tensor y = Tensor::of<std::int64_t>({0, 1, 1, 0});
  const auto parameters = net.parameters();
  double loss = 0;
  for (int step = 0; step < 500; ++step) {
    const Tensor value = cross_entropy(net(x), y);
    loss = value.item<double>();
    net.zero_grad();
    value.backward();
    const NoGrad no_grad;
    for (const Tensor& p : parameters) p.sub_(p.grad(), 0.5);
  }
  CHECK(loss < 0.05);
}

}  // namespace
}  // namespace plab::nn
