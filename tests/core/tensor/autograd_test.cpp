// SPDX-License-Identifier: Apache-2.0
// The plug, without nn: what goes to the table, what is refused, and what is left alone.
#include "plab/tensor/autograd.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <thread>

#include "plab/base/error.h"
#include "plab/tensor/ops.h"

namespace plab {

using Catch::Matchers::ContainsSubstring;

namespace {

std::string called;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Puts a table in place that notes the call and computes under NoGrad; takes it out at the end.
struct Registered {
  Registered() {
    AutogradTable table;
    table.add = [](const Tensor& a, const Tensor& b) {
      called = "add";
      const NoGrad guard;
      return a + b;
    };
    table.view = [](const Tensor& a, const Shape& shape) {
      called = "view";
      const NoGrad guard;
      return a.view(shape);
    };
    table.slice = [](const Tensor& a, std::int64_t dim, std::int64_t start, std::int64_t end,
                     std::int64_t step) {
      called = "slice";
      const NoGrad guard;
      return a.slice(dim, start, end, step);
    };
    table.add_scalar = [](const Tensor& a, double b) {
      called = "add_scalar " + std::to_string(b);
      const NoGrad guard;
      return a + b;
    };
    table.clone = [](const Tensor& a) {
      called = "clone";
      const NoGrad guard;
      return a.clone();
    };
    table.backward = [](const Tensor& /*root*/, const Tensor& gradient) {
      called = gradient.defined() ? "backward with" : "backward";
    };
    register_autograd(table);
  }
  ~Registered() { register_autograd({}); }
};

Tensor leaf() { return Tensor::of<float>({1, 2, 3}).requires_grad_(); }

}  // namespace

TEST_CASE("Operations go to the table only while recording and for what requires grad",
          "[tensor]") {
  const Registered guard;
  const Tensor w = leaf();
  const Tensor x = Tensor::ones({3});
  const auto goes_to = [](auto&& operation) {
    called.clear();
    static_cast<void>(operation());
    return called;
  };
  CHECK(goes_to([&] { return x + w; }) == "add");
  CHECK(goes_to([&] { return w + x; }) == "add");
  CHECK(goes_to([&] { return x + x; }).empty());
  CHECK(goes_to([&] { return w + 1.5; }) == "add_scalar 1.500000");
  CHECK(goes_to([&] { return w - 1; }) == "add_scalar -1.000000");
  CHECK(goes_to([&] { return w.view({3, 1}); }) == "view");
  CHECK(goes_to([&] { return w.narrow(0, 1, 2); }) == "slice");
  CHECK(goes_to([&] { return w.contiguous(); }).empty());
  CHECK(goes_to([&] { return w.clone(); }) == "clone");
  CHECK(goes_to([&] { return w.detach(); }).empty());
  CHECK(goes_to([&] { return lt(w, x); }).empty());
  CHECK(goes_to([&] { return argmax(w, 0); }).empty());
  CHECK(goes_to([&] { return w.to(DType::kI64); }).empty());
  {
    const NoGrad off;
    CHECK(goes_to([&] { return w + w; }).empty());
  }
  CHECK(goes_to([&] { return w + w; }) == "add");
}

TEST_CASE("Without a tape a recorded operation says what to link", "[tensor]") {
  const Tensor w = leaf();
  CHECK_THROWS_WITH(w + w, ContainsSubstring("link plab::nn"));
  CHECK_THROWS_AS(w.view({3, 1}), ContractError);
  CHECK_THROWS_AS(matmul(w, w), ContractError);
  CHECK_THROWS_AS(sum(w), ContractError);
  CHECK_THROWS_AS(w.backward(), ContractError);
}

TEST_CASE("A leaf that requires grad changes in place only under NoGrad", "[tensor]") {
  const Tensor w = leaf();
  const Tensor x = Tensor::ones({3});
  CHECK_THROWS_WITH(w.add_(x), ContainsSubstring("a leaf tensor that requires grad") &&
                                   ContainsSubstring("in-place operation"));
  CHECK_THROWS_AS(w.fill_(0), ContractError);
  CHECK_THROWS_AS(w.copy_(x), ContractError);
  CHECK_THROWS_AS(w.mul_(2), ContractError);
  CHECK_THROWS_AS(w.div_(x), ContractError);
  CHECK_THROWS_AS(w.zero_(), ContractError);
  CHECK_THROWS_WITH(x.add_(w), ContainsSubstring("detach()"));
  CHECK_THROWS_AS(x.copy_(w), ContractError);
  CHECK(w.to_vector<float>() == std::vector<float>{1, 2, 3});
  {
    const NoGrad off;
    w.add_(x);
    x.copy_(w);
  }
  CHECK(x.to_vector<float>() == std::vector<float>{2, 3, 4});
  w.detach().fill_(9);
  CHECK(w.at<float>({1}) == 9);
}

TEST_CASE("A computed tensor that requires grad is not changed in place", "[tensor]") {
  struct Node : GradNode {};
  const Tensor y = Tensor::ones({2});
  y.autograd_or_create().requires_grad = true;
  y.autograd_or_create().grad_fn = std::make_shared<Node>();
  CHECK_FALSE(y.is_leaf());
  CHECK_THROWS_WITH(y.mul_(2), ContainsSubstring("not recorded"));
  CHECK_THROWS_AS(y.requires_grad_(false), ContractError);
  CHECK(y.requires_grad_().requires_grad());
}

TEST_CASE("requires_grad, grad and hooks are kept and checked", "[tensor]") {
  const Tensor t = Tensor::ones({2});
  CHECK_FALSE(t.requires_grad());
  CHECK(t.is_leaf());
  CHECK(t.autograd() == nullptr);
  CHECK_FALSE(t.grad().defined());
  CHECK_FALSE(t.requires_grad_(false).requires_grad());
  CHECK(t.autograd() == nullptr);
  CHECK(t.requires_grad_().requires_grad());
  CHECK_FALSE(t.detach().requires_grad());
  t.set_grad(Tensor::of<float>({3, 4}));
  CHECK(t.grad().at<float>({1}) == 4);
  t.set_grad(Tensor());
  CHECK_FALSE(t.grad().defined());
  CHECK_THROWS_AS(t.set_grad(Tensor::ones({3})), ShapeError);
  CHECK_THROWS_AS(t.set_grad(Tensor::ones({2}, DType::kF64)), ShapeError);
  CHECK_THROWS_AS(Tensor::arange(2).requires_grad_(), ContractError);
  const std::size_t first = t.register_hook([](const Tensor& g) { return g; });
  const std::size_t second = t.register_hook([](const Tensor& g) { return g; });
  CHECK(first != second);
  t.remove_hook(first);
  t.remove_hook(99);
  CHECK(t.autograd()->hooks.size() == 1);
  CHECK(t.autograd()->hooks[0].number == second);
  CHECK_THROWS_AS(Tensor::ones({1}).register_hook([](const Tensor& g) { return g; }),
                  ContractError);
}

TEST_CASE("backward goes to the table with its gradient", "[tensor]") {
  const Registered guard;
  called.clear();
  leaf().backward();
  CHECK(called == "backward");
  leaf().backward(Tensor::ones({3}));
  CHECK(called == "backward with");
  CHECK_THROWS_AS(Tensor::ones({1}).backward(), ContractError);
  CHECK_THROWS_AS(Tensor().backward(), ContractError);
}

TEST_CASE("Each thread records on its own", "[tensor][threads]") {
  CHECK(grad_enabled());
  bool other = false;
  {
    const NoGrad off;
    CHECK_FALSE(grad_enabled());
    std::thread([&] { other = grad_enabled(); }).join();
    { const NoGrad again; }
    CHECK_FALSE(grad_enabled());
  }
  CHECK(grad_enabled());
  CHECK(other);
}

}  // namespace plab
