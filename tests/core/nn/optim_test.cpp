// SPDX-License-Identifier: Apache-2.0
// The literals are the parameters that PyTorch 1.13 (torch.optim, float64) has after each step.
#include "plab/nn/optim.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>
#include <string>

#include "data.h"
#include "plab/base/error.h"
#include "plab/nn/layers.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

namespace plab::nn {
namespace {

using testing::close;
using testing::f64;
using testing::leaf_of;

using Steps = std::vector<std::vector<double>>;
const Steps kGradients{{0.1, -0.2, 0.3}, {-0.4, 0.5, 0.05}, {0.7, 0.0, -0.6}, {0.25, -0.35, 0.45}};

Tensor start() { return leaf_of({0.5, -1.25, 2.0}); }

void set_gradient(const Tensor& parameter, std::size_t step) {
  parameter.set_grad(Tensor::of<double>(kGradients[step], {3}));
}

void check_steps(Optimizer& optimizer, const Steps& expected) {
  const Tensor parameter = optimizer.parameters()[0];
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("step " << i);
    set_gradient(parameter, i);
    optimizer.step();
    CHECK(close(parameter, expected[i]));
  }
}

const Steps kDampened{{0.489, -1.2275, 1.966},
                      {0.5064154, -1.2405315000000001, 1.9291476},
                      {0.47238027843999997, -1.2505231059000002, 1.93527963336},
                      {0.423587336646184, -1.23326481886174, 1.906589071897296}};
const SGDOptions kDampenedOptions{
    .lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.02};
const Steps kAdam{{0.45033112582781454, -1.2001533742331287, 1.9500998003992016},
                  {0.4739865359481433, -1.20953484436775, 1.9043482796512896},
                  {0.45086907363046225, -1.2078026119829208, 1.8988728271998923},
                  {0.42297000611277297, -1.1841714302672481, 1.8730779235255226}};
const AdamOptions kAdamOptions{
    .lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1};

TEST_CASE("SGD takes PyTorch's steps", "[nn][optim]") {
  SGD plain({start()}, {.lr = 0.1});
  check_steps(
      plain,
      {{0.49, -1.23, 1.97}, {0.53, -1.28, 1.965}, {0.46, -1.28, 2.025}, {0.435, -1.245, 1.98}});
  SGD decay({start()}, {.lr = 0.1, .weight_decay = 0.05});
  check_steps(decay, {{0.4875, -1.22375, 1.96},
                      {0.5250625, -1.26763125, 1.9452},
                      {0.4524371875, -1.26129309375, 1.995474},
                      {0.4251750015625, -1.21998662828125, 1.94049663}});
}

TEST_CASE("SGD with momentum takes PyTorch's steps", "[nn][optim]") {
  SGD momentum({start()}, {.lr = 0.1, .momentum = 0.9});
  check_steps(momentum, {{0.49, -1.23, 1.97},
                         {0.521, -1.262, 1.938},
                         {0.47890000000000005, -1.2908, 1.9691999999999998},
                         {0.41601000000000005, -1.28172, 1.9522799999999998}});
  SGD dampened({start()}, kDampenedOptions);
  check_steps(dampened, kDampened);
  SGD nesterov({start()}, {.lr = 0.1, .momentum = 0.8, .weight_decay = 0.01, .nesterov = true});
  check_steps(nesterov, {{0.48109999999999997, -1.2117499999999999, 1.9424},
                         {0.5455140199999999, -1.28596885, 1.90942368},
                         {0.43844819076399993, -1.3039985860699999, 1.993159581376},
                         {0.3634427318478247, -1.2541039525510738, 1.929088154174323}});
}

TEST_CASE("Adam takes PyTorch's steps", "[nn][optim]") {
  Adam plain({start()}, {.lr = 0.1});
  check_steps(plain, {{0.400000009999999, -1.1500000049999999, 1.9000000033333333},
                      {0.4559503574851284, -1.194221530217233, 1.821667272150606},
                      {0.4228415530469759, -1.2284048971759303, 1.8513024131101938},
                      {0.37981988130915323, -1.2201829939675772, 1.839147207812403}});
  Adam all({start()}, kAdamOptions);
  check_steps(all, kAdam);
}

TEST_CASE("state that was made early and shared gives the same steps", "[nn][optim]") {
  SGD sgd({start()}, kDampenedOptions);
  sgd.share_memory();
  check_steps(sgd, kDampened);
  Adam adam({start()}, kAdamOptions);
  adam.share_memory();
  check_steps(adam, kAdam);
  for (const auto& [name, tensor] : adam.state_dict()) {
    if (name.starts_with("state.")) CHECK(tensor.is_shared());
  }
}

TEST_CASE("parameters that are views of other memory are stepped in place", "[nn][optim]") {
  const Tensor memory = Tensor::zeros({3, 2}, DType::kF64);
  const Tensor column = memory.select(1, 1);
  column.copy_(f64({0.5, -1.25, 2.0}));
  column.requires_grad_();
  Adam adam({column}, kAdamOptions);
  check_steps(adam, kAdam);
  CHECK(close(memory.select(1, 0), {0, 0, 0}));
  CHECK(close(memory.select(1, 1), kAdam.back()));
}

TEST_CASE("an optimizer goes on where a saved one was", "[nn][optim]") {
  SGD first({start()}, kDampenedOptions);
  check_steps(first, {kDampened[0], kDampened[1]});
  SGD second({leaf_of({0.5064154, -1.2405315000000001, 1.9291476})}, {.lr = 5});
  second.load_state_dict(first.state_dict());
  CHECK(second.lr() == 0.1);
  for (const std::size_t step : {2U, 3U}) {
    set_gradient(second.parameters()[0], step);
    second.step();
    CHECK(close(second.parameters()[0], kDampened[step]));
  }
  Adam adam({start()}, kAdamOptions);
  check_steps(adam, {kAdam[0], kAdam[1], kAdam[2]});
  Adam other({adam.parameters()[0].detach().clone().requires_grad_()});
  other.load_state_dict(adam.state_dict());
  set_gradient(other.parameters()[0], 3);
  other.step();
  CHECK(close(other.parameters()[0], kAdam[3]));
}

TEST_CASE("a state saved before the first step starts anew", "[nn][optim]") {
  SGD fresh({start()}, kDampenedOptions);
  const auto state = fresh.state_dict();
  SGD used({start()}, kDampenedOptions);
  check_steps(used, {kDampened[0]});
  used.load_state_dict(state);
  {
    const NoGrad no_grad;
    used.parameters()[0].copy_(f64({0.5, -1.25, 2.0}));
  }
  check_steps(used, kDampened);
}

TEST_CASE("a state that does not fit the optimizer is refused whole", "[nn][optim]") {
  Adam adam({start()}, kAdamOptions);
  check_steps(adam, {kAdam[0]});
  StateDict state = adam.state_dict();
  std::erase_if(state, [](const auto& entry) {
    return entry.first == "state.0.step" || entry.first == "param_groups.0.eps";
  });
  state.emplace_back("state.7.exp_avg", Tensor::zeros({3}));
  for (auto& [name, tensor] : state) {
    if (name == "state.0.exp_avg_sq") tensor = Tensor::zeros({4});
    if (name == "param_groups.0.lr") tensor = Tensor::scalar(77, DType::kF64);
  }
  std::string text;
  try {
    adam.load_state_dict(state);
  } catch (const ContractError& error) {
    text = error.what();
  }
  INFO(text);
  for (const auto* part : {"state.0.step is missing", "param_groups.0.eps is missing",
                           "state.7.exp_avg is unexpected", "state.0.exp_avg_sq has shape [4]"}) {
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(adam.lr() == 0.05);
}

TEST_CASE("a parameter without a gradient stays as it is", "[nn][optim]") {
  const Tensor with = start();
  const Tensor without = leaf_of({1, 2, 3});
  SGD sgd({with, without}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.5});
  set_gradient(with, 0);
  sgd.step();
  CHECK(close(without, {1, 2, 3}));
  CHECK_FALSE(close(with, {0.5, -1.25, 2.0}));
}

TEST_CASE("zero_grad of an optimizer drops or zeroes", "[nn][optim]") {
  SGD sgd({start()}, {.lr = 0.1});
  set_gradient(sgd.parameters()[0], 0);
  sgd.zero_grad(ZeroGrad::kZero);
  CHECK(close(sgd.parameters()[0].grad(), {0, 0, 0}));
  sgd.zero_grad();
  CHECK_FALSE(sgd.parameters()[0].grad().defined());
}

TEST_CASE("a step between forward and backward is refused, as in PyTorch", "[nn][optim]") {
  const Tensor w = leaf_of({1, 2, 3});
  SGD sgd({w}, {.lr = 0.1});
  const Tensor loss = sum(mul(w, w));
  set_gradient(w, 0);
  sgd.step();
  CHECK_THROWS_AS(loss.backward(), ContractError);
}

TEST_CASE("bad options and parameters are refused", "[nn][optim]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(SGD({}, {.lr = 0.1}), ContractError);
  CHECK_THROWS_AS(SGD({Tensor()}, {.lr = 0.1}), ContractError);
  CHECK_THROWS_AS(SGD({start() * 2}, {.lr = 0.1}), ContractError);
  CHECK_THROWS_AS(SGD({Tensor::zeros({2}, DType::kI64)}, {.lr = 0.1}), DTypeError);
  CHECK_THROWS_AS(SGD({start()}, {.lr = -0.1}), ContractError);
  CHECK_THROWS_AS(SGD({start()}, {.lr = nan}), ContractError);
  CHECK_THROWS_AS(SGD({start()}, {.lr = 0.1, .momentum = -1}), ContractError);
  CHECK_THROWS_AS(SGD({start()}, {.lr = 0.1, .nesterov = true}), ContractError);
  CHECK_THROWS_AS(SGD({start()}, {.lr = 0.1, .momentum = 0.9, .dampening = 0.1, .nesterov = true}),
                  ContractError);
  CHECK_THROWS_AS(Adam({start()}, {.beta1 = 1}), ContractError);
  CHECK_THROWS_AS(Adam({start()}, {.beta2 = -0.1}), ContractError);
  CHECK_THROWS_AS(Adam({start()}, {.eps = -1}), ContractError);
  SGD sgd({start()}, {.lr = 0.1});
  CHECK_THROWS_AS(sgd.set_lr(-1), ContractError);
  sgd.set_lr(0.5);
  CHECK(sgd.lr() == 0.5);
}

}  // namespace
}  // namespace plab::nn
