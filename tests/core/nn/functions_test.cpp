// SPDX-License-Identifier: Apache-2.0
// Every recorded operation against finite differences.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <functional>

#include "data.h"
#include "plab/base/error.h"
#include "plab/nn/gradcheck.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

namespace plab::nn {
namespace {

using testing::close;
using testing::leaf;
using testing::leaf_of;
using testing::leaf_off_zero;
using Inputs = std::span<const Tensor>;
using Function = std::function<Tensor(Inputs)>;

std::string check(const Function& function, std::initializer_list<Tensor> inputs) {
  return gradcheck(function, Inputs(inputs.begin(), inputs.size()));
}

struct Pair {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
};
const std::array kBinary{Pair{"add", add}, Pair{"sub", sub}, Pair{"mul", mul}, Pair{"div", div},
                         Pair{"maximum", maximum}};

// The second operand is away from 0, for div.
Tensor divisor(const Shape& shape, std::uint64_t seed) { return leaf(shape, seed, 0.5, 2.5); }

TEST_CASE("the gradient of each binary operation is right for equal shapes", "[nn][gradcheck]") {
  for (const auto& [name, op] : kBinary) {
    INFO(name);
    const auto run = [f = op](Inputs in) { return f(in[0], in[1]); };
    CHECK(check(run, {leaf({3, 5}, 1), divisor({3, 5}, 2)}).empty());
    CHECK(check(run, {leaf({}, 1), divisor({}, 2)}).empty());
  }
}

TEST_CASE("the gradient of each binary operation is summed over what was broadcast",
          "[nn][gradcheck]") {
  const std::array<std::array<Shape, 2>, 6> shapes{{{Shape{3, 5}, Shape{5}},
                                                    {Shape{5}, Shape{3, 5}},
                                                    {Shape{3, 1}, Shape{1, 4}},
                                                    {Shape{2, 1, 4}, Shape{3, 1}},
                                                    {Shape{}, Shape{2, 3}},
                                                    {Shape{2, 3}, Shape{1, 1, 1}}}};
  for (const auto& [name, op] : kBinary) {
    for (const auto& [a, b] : shapes) {
      INFO(name << " " << a.str() << " " << b.str());
      const auto run = [f = op](Inputs in) { return f(in[0], in[1]); };
      CHECK(check(run, {leaf(a, 3), divisor(b, 4)}).empty());
    }
  }
}

TEST_CASE("an operand used twice gets both parts of its gradient", "[nn][gradcheck]") {
  CHECK(check([](Inputs in) { return mul(in[0], in[0]); }, {leaf({4}, 5)}).empty());
  CHECK(check([](Inputs in) { return add(in[0], mul(in[0], in[1])); },
              {leaf({2, 3}, 6), leaf({3}, 7)})
            .empty());
  CHECK(check([](Inputs in) { return div(in[0], in[0] * in[0] + 1.5); }, {leaf({5}, 8)}).empty());
}

TEST_CASE("only the operand that requires a gradient gets one", "[nn]") {
  const Tensor a = leaf({2, 2}, 9);
  const Tensor b = Tensor::full({2, 2}, 3, DType::kF64);
  for (const auto& [name, op] : kBinary) {
    INFO(name);
    a.set_grad(Tensor());
    sum(op(a, b)).backward();
    CHECK(a.grad().defined());
    CHECK_FALSE(b.grad().defined());
    sum(op(b, a)).backward();
    CHECK_FALSE(b.grad().defined());
  }
}

TEST_CASE("the gradient of each unary operation is right", "[nn][gradcheck]") {
  const Tensor any = leaf_off_zero({3, 4}, 10);
  const Tensor positive = leaf({3, 4}, 11, 0.3, 3);
  CHECK(check([](Inputs in) { return neg(in[0]); }, {any}).empty());
  CHECK(check([](Inputs in) { return abs(in[0]); }, {any}).empty());
  CHECK(check([](Inputs in) { return exp(in[0]); }, {any}).empty());
  CHECK(check([](Inputs in) { return tanh(in[0]); }, {any}).empty());
  CHECK(check([](Inputs in) { return relu(in[0]); }, {any}).empty());
  CHECK(check([](Inputs in) { return ln(in[0]); }, {positive}).empty());
  CHECK(check([](Inputs in) { return sqrt(in[0]); }, {positive}).empty());
  CHECK(check([](Inputs in) { return in[0] + 2.5; }, {any}).empty());
  CHECK(check([](Inputs in) { return in[0] - 2.5; }, {any}).empty());
  CHECK(check([](Inputs in) { return in[0] * -3; }, {any}).empty());
  CHECK(check([](Inputs in) { return in[0] / 4; }, {any}).empty());
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, -1.0}) {
    INFO(exponent);
    CHECK(check([=](Inputs in) { return pow(in[0], exponent); }, {any}).empty());
  }
  CHECK(check([](Inputs in) { return pow(in[0], 0.5); }, {positive}).empty());
}

TEST_CASE("the kernels of relu and tanh take gradients that are views, and repeated use",
          "[nn][gradcheck]") {
  const Tensor a = leaf_off_zero({3, 4}, 12);
  CHECK(check([](Inputs in) { return relu(in[0].t()).t() * 2; }, {a}).empty());
  CHECK(check([](Inputs in) { return tanh(in[0]).transpose(0, 1); }, {a}).empty());
  // The gradient of h comes from two sides, and must not be overwritten by one of them.
  CHECK(check(
            [](Inputs in) {
              const Tensor h = relu(in[0]);
              return add(relu(h), mul(tanh(h), h));
            },
            {a})
            .empty());
}

TEST_CASE("the gradient of each reduction is right", "[nn][gradcheck]") {
  const Tensor a = leaf({2, 3, 4}, 13);
  CHECK(check([](Inputs in) { return sum(in[0]); }, {a}).empty());
  CHECK(check([](Inputs in) { return mean(in[0]); }, {a}).empty());
  CHECK(check([](Inputs in) { return max(in[0]); }, {a}).empty());
  CHECK(check([](Inputs in) { return min(in[0]); }, {a}).empty());
  for (const std::int64_t dim : {0, 1, 2, -1, -3}) {
    for (const bool keep : {false, true}) {
      INFO(dim << " " << keep);
      CHECK(check([=](Inputs in) { return sum(in[0], dim, keep); }, {a}).empty());
      CHECK(check([=](Inputs in) { return mean(in[0], dim, keep); }, {a}).empty());
    }
  }
}

TEST_CASE("equal extremes share the gradient as in PyTorch", "[nn]") {
  const Tensor a = leaf_of({1, 3, 3});
  max(a).backward();
  CHECK(close(a.grad(), {0, 0.5, 0.5}));
  const Tensor b = leaf_of({1, 3, 3});
  const Tensor c = leaf_of({1, 2, 5});
  sum(maximum(b, c)).backward();
  CHECK(close(b.grad(), {0.5, 1, 0}));
  CHECK(close(c.grad(), {0.5, 0, 1}));
}

TEST_CASE("the gradient of a matrix product is right for vectors and matrices", "[nn][gradcheck]") {
  const auto run = [](Inputs in) { return matmul(in[0], in[1]); };
  CHECK(check(run, {leaf({3, 5}, 14), leaf({5, 2}, 15)}).empty());
  CHECK(check(run, {leaf({5}, 16), leaf({5}, 17)}).empty());
  CHECK(check(run, {leaf({3, 5}, 18), leaf({5}, 19)}).empty());
  CHECK(check(run, {leaf({5}, 20), leaf({5, 2}, 21)}).empty());
  CHECK(check([](Inputs in) { return matmul(in[0].t(), in[1]); },
              {leaf({5, 3}, 22), leaf({5, 2}, 23)})
            .empty());
  CHECK(check([](Inputs in) { return matmul(in[0], in[1].t()).t(); },
              {leaf({3, 5}, 24), leaf({1, 5}, 25)})
            .empty());
}

TEST_CASE("the gradient of linear is right with and without bias", "[nn][gradcheck]") {
  const auto run = [](Inputs in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); };
  CHECK(check(run, {leaf({4, 3}, 26), leaf({5, 3}, 27), leaf({5}, 28)}).empty());
  CHECK(check(run, {leaf({1, 3}, 29), leaf({1, 3}, 30)}).empty());
  // The operands and the gradient are views.
  CHECK(check([](Inputs in) { return linear(in[0].t(), in[1].t(), in[2]).t(); },
              {leaf({3, 4}, 31), leaf({3, 5}, 32), leaf({5}, 33)})
            .empty());
  CHECK(check([](Inputs in) { return mean(linear(in[0], in[1], in[2])); },
              {leaf({4, 3}, 34), leaf({5, 3}, 35), leaf({5}, 36)})
            .empty());
}

TEST_CASE("the gradient of softmax and log-softmax is right", "[nn][gradcheck]") {
  for (const std::int64_t dim : {0, 1, -1}) {
    INFO(dim);
    CHECK(check([=](Inputs in) { return log_softmax(in[0], dim); }, {leaf({3, 4}, 37)}).empty());
    CHECK(check([=](Inputs in) { return softmax(in[0], dim); }, {leaf({3, 4}, 38)}).empty());
  }
  CHECK(check([](Inputs in) { return softmax(in[0], 1); }, {leaf({2, 3, 4}, 39)}).empty());
}

TEST_CASE("the gradient of picking adds up where an index is repeated", "[nn][gradcheck]") {
  const Tensor a = leaf({3, 4}, 40);
  const std::array<std::int64_t, 6> picks{0, 2, 2, 1, 0, 2};
  const Tensor index = Tensor::of<std::int64_t>(picks, {2, 3});
  CHECK(check([&](Inputs in) { return gather(in[0], 0, index); }, {a}).empty());
  CHECK(check([&](Inputs in) { return gather(in[0], 1, index); }, {a}).empty());
  CHECK(check([&](Inputs in) { return gather(in[0].t(), -1, index); }, {leaf({3, 2}, 41)}).empty());
  const Tensor rows = Tensor::of<std::int64_t>({2, 0, 2, 2});
  CHECK(check([&](Inputs in) { return index_select(in[0], 0, rows); }, {a}).empty());
  CHECK(check([&](Inputs in) { return index_select(in[0], -1, rows); }, {a}).empty());
  CHECK(check([&](Inputs in) { return index_select(in[0], 1, rows); }, {leaf({2, 3, 4}, 42)})
            .empty());
}

TEST_CASE("the gradient of joined tensors goes back to each part", "[nn][gradcheck]") {
  const auto join = [](std::int64_t dim) { return [=](Inputs in) { return cat(in, dim); }; };
  CHECK(check(join(0), {leaf({2, 3}, 43), leaf({1, 3}, 44), leaf({4, 3}, 45)}).empty());
  CHECK(check(join(-1), {leaf({2, 3}, 46), leaf({2, 1}, 47)}).empty());
  for (const std::int64_t dim : {0, 1, 2, -1}) {
    INFO(dim);
    CHECK(check([=](Inputs in) { return stack(in, dim); },
                {leaf({2, 3}, 48), leaf({2, 3}, 49), leaf({2, 3}, 50), leaf({2, 3}, 51)})
              .empty());
  }
}

TEST_CASE("the gradient passes every view and copy", "[nn][gradcheck]") {
  const Tensor a = leaf({3, 4}, 52);
  CHECK(check([](Inputs in) { return in[0].view({2, 6}); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].view({-1}); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].t().reshape({2, 6}); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].reshape({3, 4}); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].flatten(1); }, {leaf({2, 3, 2}, 53)}).empty());
  CHECK(check([](Inputs in) { return in[0].slice(0, 1, 3); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].slice(-1, 0, 4, 3); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].slice(1, -3, 100); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].narrow(1, 1, 2); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].select(1, 2); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0][-1]; }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].transpose(0, -1); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].permute({2, 0, -2}); }, {leaf({2, 3, 4}, 54)}).empty());
  CHECK(check([](Inputs in) { return in[0].expand({5, 3, 4}); }, {leaf({3, 1}, 55)}).empty());
  CHECK(check([](Inputs in) { return in[0].squeeze(1); }, {leaf({3, 1, 2}, 56)}).empty());
  CHECK(check([](Inputs in) { return in[0].squeeze(0); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].unsqueeze(-1); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].clone(); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].t().contiguous(); }, {a}).empty());
  CHECK(check([](Inputs in) { return in[0].t().slice(0, 1, 3).select(1, 2); }, {a}).empty());
}

TEST_CASE("a view of a leaf keeps its history, the leaf stays a leaf", "[nn]") {
  const Tensor a = leaf({2, 3}, 57);
  const Tensor same = a.reshape({2, 3});
  CHECK(a.is_leaf());
  CHECK_FALSE(same.is_leaf());
  CHECK(same.storage().is_same(a.storage()));
}

TEST_CASE("mixed dtypes: each operand's gradient has its own dtype", "[nn]") {
  const Tensor a = Tensor::of<float>({1, 2, 3});
  a.requires_grad_();
  const Tensor b = leaf_of({0.5, -1, 2});
  const Tensor c = mul(a, b);
  CHECK(c.dtype() == DType::kF64);
  sum(c).backward();
  CHECK(a.grad().dtype() == DType::kF32);
  CHECK(close(a.grad(), {0.5, -1, 2}));
  CHECK(b.grad().dtype() == DType::kF64);
  CHECK(close(b.grad(), {1, 2, 3}));
}

TEST_CASE("conversions are recorded between floating dtypes and end the history otherwise",
          "[nn]") {
  const Tensor a = leaf_of({1.5, -2});
  const Tensor narrow = a.to(DType::kF32);
  CHECK(narrow.requires_grad());
  sum(narrow * 3).backward();
  CHECK(a.grad().dtype() == DType::kF64);
  CHECK(close(a.grad(), {3, 3}));
  CHECK_FALSE(a.to(DType::kI64).requires_grad());
  CHECK_FALSE(gt(a, a).requires_grad());
  CHECK_FALSE(argmax(a, 0).requires_grad());
}

TEST_CASE("nothing is recorded under NoGrad or for operands without gradients", "[nn]") {
  const Tensor a = leaf({2, 3}, 58);
  {
    const NoGrad no_grad;
    CHECK_FALSE(exp(a).requires_grad());
    CHECK_FALSE(a.view({6}).requires_grad());
  }
  CHECK(exp(a).requires_grad());
  CHECK_FALSE(exp(a.detach()).requires_grad());
}

TEST_CASE("gradcheck finds a wrong gradient", "[nn][gradcheck]") {
  const Tensor a = leaf({3}, 59);
  // detach() hides a factor from the tape: its gradient is half of what it should be.
  const std::string problem = check([](Inputs in) { return mul(in[0], in[0].detach()); }, {a});
  CHECK(problem.find("input 0, element 0 of [3]") != std::string::npos);
  CHECK_THROWS_AS(check([](Inputs in) { return in[0] * 2; }, {Tensor::zeros({2}, DType::kF64)}),
                  ContractError);
}

}  // namespace
}  // namespace plab::nn
