// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/module.h"

#include <catch2/catch_test_macros.hpp>

#include <string>

#include "data.h"
#include "plab/base/error.h"
#include "plab/nn/layers.h"
#include "plab/tensor/ops.h"

namespace plab::nn {
namespace {

Sequential small(std::uint64_t seed) {
  Generator generator(seed);
  return Sequential(Linear(3, 4, generator), ReLU(), Linear(4, 2, generator));
}

std::vector<std::string> names(const Module::Named& named) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : named) result.push_back(name);
  return result;
}

// A parameter, a buffer, a child used twice.
class Custom final : public Module {
 public:
  explicit Custom(Generator& generator) {
    scale_ = register_parameter("scale", Tensor::ones({2}));
    count_ = register_buffer("count", Tensor::zeros({1}, DType::kI64));
    layer_ = register_module("layer", std::make_shared<Linear>(2, 2, generator));
    register_module("again", layer_);
  }
  Tensor forward(const Tensor& x) override { return mul(layer_->forward(x), scale_); }
  [[nodiscard]] std::string describe() const override { return "Custom"; }
  void add(const std::string& name) { register_parameter(name, Tensor::ones({1})); }
  void add_child(const std::string& name) { register_module(name, std::shared_ptr<Linear>()); }
  Tensor scale_, count_;
  std::shared_ptr<Linear> layer_;
};

TEST_CASE("parameters have PyTorch's dotted names, in the order of registration", "[nn][module]") {
  const Sequential net = small(1);
  CHECK(names(net.named_parameters()) ==
        std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
  CHECK(net.parameters().size() == 4);
}

TEST_CASE("a module that is used twice gives its parameters once, its state twice",
          "[nn][module]") {
  Generator generator(1);
  Custom module(generator);
  CHECK(names(module.named_parameters()) ==
        std::vector<std::string>{"scale", "layer.weight", "layer.bias"});
  CHECK(names(module.named_buffers()) == std::vector<std::string>{"count"});
  CHECK(names(module.state_dict()) == std::vector<std::string>{"scale", "count", "layer.weight",
                                                               "layer.bias", "again.weight",
                                                               "again.bias"});
}

TEST_CASE("names that are empty, dotted or taken are refused", "[nn][module]") {
  Generator generator(1);
  Custom module(generator);
  for (const auto* name : {"", "a.b", "scale", "count", "layer"}) {
    INFO(name);
    CHECK_THROWS_AS(module.add(name), ContractError);
  }
  CHECK_THROWS_AS(module.add_child("null"), ContractError);
}

TEST_CASE("a module prints as PyTorch prints it", "[nn][module]") {
  Generator g(1);
  const Sequential net(Linear(64, 128, g), ReLU(),
                       Sequential(Conv2d(4, 6, {3, 2}, g,
                                         {.stride = {2, 1},
                                          .padding = {1, 2},
                                          .dilation = {1, 2},
                                          .groups = 2,
                                          .bias = Bias::kNo}),
                                  Dropout(0.25, g), Flatten()),
                       Linear(3, 2, g, Bias::kNo), Tanh());
  CHECK(net.to_string() == R"(Sequential(
  (0): Linear(in_features=64, out_features=128, bias=True)
  (1): ReLU()
  (2): Sequential(
    (0): Conv2d(4, 6, kernel_size=(3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2, bias=False)
    (1): Dropout(p=0.25, inplace=False)
    (2): Flatten(start_dim=1, end_dim=-1)
  )
  (3): Linear(in_features=3, out_features=2, bias=False)
  (4): Tanh()
))");
  CHECK(Sequential().to_string() == "Sequential()");
}

TEST_CASE("train and eval reach every module below", "[nn][module]") {
  Generator generator(1);
  Sequential net(ReLU(), Sequential(Dropout(0.5, generator)));
  const auto training = [&] {
    return net.is_training() && net[1].is_training() && net[1].children()[0].second->is_training();
  };
  CHECK(training());
  net.eval();
  CHECK_FALSE(net.is_training());
  CHECK_FALSE(net[1].children()[0].second->is_training());
  net.train();
  CHECK(training());
}

TEST_CASE("apply visits the deepest first and the module itself last", "[nn][module]") {
  Sequential net{ReLU(), Sequential{Tanh()}};
  std::string visited;
  net.apply([&](Module& m) { visited += m.describe().substr(0, 1); });
  CHECK(visited == "RTSS");
}

TEST_CASE("zero_grad drops gradients, or zeroes them in place", "[nn][module]") {
  Sequential net = small(2);
  sum(net(Tensor::ones({2, 3}))).backward();
  const Tensor kept = net.parameters()[1].grad();
  REQUIRE(kept.defined());
  net.zero_grad(ZeroGrad::kZero);
  CHECK(net.parameters()[1].grad().is_same(kept));
  CHECK(sum(abs(kept)).item<float>() == 0);
  net.zero_grad();
  for (const Tensor& p : net.parameters()) CHECK_FALSE(p.grad().defined());
}

TEST_CASE("parameters that require no gradient get none", "[nn][module]") {
  Sequential net = small(3);
  net[0].requires_grad_(false);
  sum(net(Tensor::ones({2, 3}))).backward();
  CHECK_FALSE(net.parameters()[0].grad().defined());
  CHECK(net.parameters()[2].grad().defined());
}

TEST_CASE("a state goes into another module of the same form", "[nn][module]") {
  const Sequential from = small(4);
  Sequential to = small(5);
  const auto before = to.parameters();
  REQUIRE_FALSE(equal(before[0].detach(), from.parameters()[0].detach()));
  to.load_state_dict(from.state_dict());
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(equal(to.parameters()[i].detach(), from.parameters()[i].detach()));
    CHECK(to.parameters()[i].is_same(before[i]));  // copied into the same tensors
  }
  CHECK_FALSE(to.parameters()[0].storage().is_same(from.parameters()[0].storage()));
}

TEST_CASE("a state that does not fit is refused with everything that is wrong", "[nn][module]") {
  Sequential net = small(6);
  const auto before = net.parameters()[1].detach().clone();
  StateDict state{{"0.bias", Tensor::full({4}, 9)},
                  {"2.weight", Tensor::zeros({2, 5})},
                  {"2.bias", Tensor()},
                  {"3.weight", Tensor::zeros({1})},
                  {"extra", Tensor::zeros({1})}};
  std::string text;
  try {
    net.load_state_dict(state);
  } catch (const ContractError& error) {
    text = error.what();
  }
  for (const auto* part : {"missing: 0.weight", "unexpected: 3.weight, extra",
                           "2.weight: [2, 5] is given, the module has [2, 4]",
                           "2.bias: the given tensor is undefined"}) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(equal(net.parameters()[1].detach(), before));  // nothing was loaded
  CHECK_THROWS_AS(net.load_state_dict(state, Strict::kNo), ContractError);
  state.erase(state.begin() + 1, state.begin() + 3);
  net.load_state_dict(state, Strict::kNo);
  CHECK(net.parameters()[1].at<float>({3}) == 9);
}

TEST_CASE("a state of another dtype is converted", "[nn][module]") {
  Sequential net = small(7);
  StateDict state;
  for (auto& [name, tensor] : net.state_dict()) {
    state.emplace_back(name, Tensor::full(tensor.sizes(), 0.5, DType::kF64));
  }
  net.load_state_dict(state);
  CHECK(net.parameters()[0].dtype() == DType::kF32);
  CHECK(net.parameters()[0].at<float>({3, 2}) == 0.5F);
}

TEST_CASE("share_memory moves parameters and buffers, and keeps the tensors", "[nn][module]") {
  Generator generator(1);
  Custom module(generator);
  const auto weight = module.layer_->weight().detach().clone();
  module.share_memory();
  for (const Tensor& p : module.parameters()) CHECK(p.is_shared());
  CHECK(module.count_.is_shared());
  CHECK(equal(module.layer_->weight().detach(), weight));
  sum(module(Tensor::ones({1, 2}))).backward();
  CHECK_FALSE(module.scale_.grad().is_shared());  // made later: this process's own
}

}  // namespace
}  // namespace plab::nn
