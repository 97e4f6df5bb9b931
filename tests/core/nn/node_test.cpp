// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/node.h"

#include <catch2/catch_test_macros.hpp>

#include <optional>

#include "data.h"
#include "plab/base/error.h"
#include "plab/nn/engine.h"
#include "plab/tensor/ops.h"

namespace plab::nn {
namespace {

using testing::close;
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

TEST_CASE("a chain of 100,000 operations runs back and is taken apart without recursion", "[nn]") {
  const Tensor a = leaf_of({1, 2});
  {
    Tensor b = a * 1;
    for (int i = 0; i < 100'000; ++i) b = b + 0.5;
    sum(b).backward();
    CHECK(close(a.grad(), {1, 1}));
  }
  {
    Tensor b = a * 1;  // without a backward
    for (int i = 0; i < 100'000; ++i) b = add(b, b.detach());
  }
  SUCCEED("no stack overflow");
}

TEST_CASE("a graph that branches at each step is walked once, not once for each path", "[nn]") {
  const Tensor a = leaf_of({1});
  Tensor b = a * 1;
  for (int i = 0; i < 40; ++i) b = add(b, b);  // 2^40 paths
  sum(b).backward();
  CHECK(a.grad().item<double>() == static_cast<double>(std::uint64_t{1} << 40U));
}

TEST_CASE("an operation that saved its own result does not keep itself alive", "[nn]") {
  const Tensor a = leaf({2}, 1);
  std::weak_ptr<GradNode> node;
  for (Tensor (*const op)(const Tensor&) : {exp, tanh, relu, sqrt}) {
    {
      const Tensor b = op(a);
      node = b.autograd()->grad_fn;
      CHECK_FALSE(node.expired());
    }
    CHECK(node.expired());
  }
}

TEST_CASE("a saved tensor that was changed in place is refused with PyTorch's words", "[nn]") {
  const Tensor a = leaf({2}, 2);
  const Tensor b = leaf({2}, 3);
  const Tensor loss = sum(mul(a, b));
  {
    const NoGrad no_grad;
    b.mul_(2);
  }
  const std::string text = message_of([&] { loss.backward(); });
  CHECK(text.find("modified by an inplace operation") != std::string::npos);
  CHECK(text.find("MulBackward0") != std::string::npos);
  CHECK_FALSE(a.grad().defined());
}

TEST_CASE("a change through a view of a saved tensor is seen", "[nn]") {
  const Tensor a = leaf({2, 2}, 4);
  const Tensor loss = sum(mul(a, a));
  {
    const NoGrad no_grad;
    a.select(0, 1).fill_(7);
  }
  CHECK(message_of([&] { loss.backward(); }).find("inplace") != std::string::npos);
}

TEST_CASE("a change of a tensor that no gradient needs is allowed", "[nn]") {
  const Tensor a = leaf({2}, 5);
  const Tensor b = Tensor::ones({2}, DType::kF64);
  const Tensor loss = sum(add(a, b));
  b.fill_(3);
  loss.backward();
  CHECK(close(a.grad(), {1, 1}));
}

TEST_CASE("the result of an operation that saved it must not be changed", "[nn]") {
  const Tensor a = leaf({2}, 6);
  const Tensor b = exp(a);
  const Tensor loss = sum(b);
  {
    const NoGrad no_grad;
    b.zero_();
  }
  CHECK(message_of([&] { loss.backward(); }).find("ExpBackward0") != std::string::npos);
}

TEST_CASE("the accumulator of a leaf is the same while a graph holds it", "[nn]") {
  const Tensor a = leaf({2}, 7);
  const Tensor b = a * 2;
  CHECK(edge_of(a) == edge_of(a));
  CHECK(edge_of(a)->name() == "AccumulateGrad");
  CHECK(edge_of(b)->name() == "MulBackward0");
  CHECK(edge_of(b)->edges()[0] == edge_of(a));
  CHECK(edge_of(Tensor()) == nullptr);
  CHECK(edge_of(b.detach()) == nullptr);
}

TEST_CASE("two leaves never share the memory of a gradient", "[nn]") {
  const Tensor a = leaf({2}, 8);
  const Tensor b = leaf({2}, 9);
  const Tensor c = add(a, b);
  c.backward(Tensor::ones({2}, DType::kF64));
  CHECK_FALSE(a.grad().storage().is_same(b.grad().storage()));
  const NoGrad no_grad;
  a.grad().fill_(5);
  CHECK(close(b.grad(), {1, 1}));
}

TEST_CASE("the gradient that was given to backward stays the caller's", "[nn]") {
  const Tensor a = leaf({2}, 10);
  const Tensor given = testing::f64({3, 4});
  (a + 1).backward(given);
  CHECK_FALSE(a.grad().storage().is_same(given.storage()));
  (a + 1).backward(given);
  CHECK(close(a.grad(), {6, 8}));
  CHECK(close(given, {3, 4}));
}

}  // namespace
}  // namespace plab::nn
