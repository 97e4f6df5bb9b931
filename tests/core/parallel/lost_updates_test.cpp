// SPDX-License-Identifier: Apache-2.0
#include "plab/parallel/lost_updates.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <vector>

#include "plab/base/error.h"
#include "plab/tensor/autograd.h"
#include "support/gate.h"

namespace plab::parallel {
namespace {

Tensor numbers(std::int64_t n, float first) {
  Tensor tensor = Tensor::empty({n});
  for (std::int64_t i = 0; i < n; ++i) {
    tensor.data<float>()[i] = first + 0.37F * static_cast<float>(i);
  }
  return tensor;
}

Tensor parameter(std::int64_t n) {
  Tensor tensor = numbers(n, -1.5F);
  tensor.requires_grad_();
  tensor.share_memory();
  return tensor;
}

TEST_CASE("an exchange counts exactly the elements that changed since they were read",
          "[parallel]") {
  std::vector<float> shared{1, 2, 3, 4};
  const std::vector<float> read{1, 2, 3, 4};
  const std::vector<float> updated{10, 20, 30, 40};
  CHECK(exchange_checked(shared.data(), read.data(), updated.data(), 4) == 0);
  CHECK(shared == updated);
  shared = {1, 7, 3, -4};
  CHECK(exchange_checked(shared.data(), read.data(), updated.data(), 4) == 2);
  CHECK(shared == updated);
  CHECK(exchange_checked(shared.data(), read.data(), updated.data(), 0) == 0);
}

TEST_CASE("values are compared as bits: an unchanged NaN is no lost update", "[parallel]") {
  std::vector<float> shared{std::nanf(""), 0.0F};
  const std::vector<float> read{std::nanf(""), -0.0F};
  const std::vector<float> updated{1, 1};
  CHECK(exchange_checked(shared.data(), read.data(), updated.data(), 2) == 1);
}

TEST_CASE("ProbedSgd takes the same steps as SGD, to the bit", "[parallel]") {
  for (const std::int64_t size : {1, 3, 4, 5, 17, 100}) {
    for (const int probes : {0, 1, 3, 8, 1000}) {
      const nn::SGDOptions options{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01};
      const Tensor a = parameter(size);
      const Tensor b = parameter(size);
      const Tensor c = parameter(7);
      const Tensor d = parameter(7);
      nn::SGD plain({a, c}, options);
      ProbedSgd probed({b, d}, options, {.every = 2, .probes = probes, .seed = 5});
      for (int step = 0; step < 5; ++step) {
        for (const Tensor& t : {a, b}) t.set_grad(numbers(size, static_cast<float>(step)));
        for (const Tensor& t : {c, d}) t.set_grad(numbers(7, static_cast<float>(-step)));
        plain.step();
        probed.step();
      }
      INFO(size << " elements, " << probes << " probes");
      CHECK(a.to_vector<float>() == b.to_vector<float>());
      CHECK(c.to_vector<float>() == d.to_vector<float>());
      CHECK(probed.lost_updates().lost == 0);
      CHECK(probed.lost_updates().stores == 5 * (size + 7));
      CHECK((probed.lost_updates().checked > 0) == (probes > 0));
    }
  }
}

TEST_CASE("every element is probed as often as any other", "[parallel]") {
  constexpr int kSteps = 6000;
  const Tensor a = parameter(41);
  const Tensor b = parameter(10);
  // Inside the window of a probe every element is changed. The step then puts the probed ones back
  // (the rate is 0) and keeps the change of the others: so they tell which were probed.
  ProbedSgd sgd({a, b}, {.lr = 0}, {.every = 1, .probes = 1, .seed = 1, .between = [&] {
                                      const NoGrad no_grad;
                                      a.fill_(99);
                                      b.fill_(99);
                                    }});
  std::vector<int> probed(51);
  for (int step = 0; step < kSteps; ++step) {
    const NoGrad no_grad;
    a.fill_(1);
    b.fill_(1);
    a.set_grad(Tensor::zeros({41}));
    b.set_grad(Tensor::zeros({10}));
    sgd.step();
    for (std::size_t i = 0; i < 41; ++i) probed[i] += a.data<float>()[i] == 1 ? 1 : 0;
    for (std::size_t i = 0; i < 10; ++i) probed[41 + i] += b.data<float>()[i] == 1 ? 1 : 0;
  }
  // 14 blocks; 429 is expected, with a standard deviation of 20.
  for (const int times : probed) CHECK((times > 429 - 120 && times < 429 + 120));
  CHECK(sgd.lost_updates().lost == sgd.lost_updates().checked);
}

TEST_CASE("as many lost updates are counted as another process makes inside the window",
          "[parallel][fork]") {
  constexpr int kRounds = 20;
  const Tensor shared = parameter(4);
  std::vector<test::Gate> loaded(kRounds);
  std::vector<test::Gate> written(kRounds);
  // In round i the other process changes the first i % 5 elements between our load and our store.
  os::Process other = test::run_child([&] {
    for (std::size_t i = 0; i < kRounds; ++i) {
      if (!loaded[i].pass()) return 1;
      for (std::size_t k = 0; k < i % 5; ++k) shared.data<float>()[k] += 1;
      written[i].open();
    }
    return 0;
  });
  std::size_t round = 0;
  bool in_time = true;
  ProbedSgd sgd({shared}, {.lr = 0.5}, {.every = 1, .probes = 1, .between = [&] {
                                          loaded[round].open();
                                          in_time = written[round].pass() && in_time;
                                        }});
  std::int64_t expected = 0;
  for (; round < kRounds; ++round) {
    shared.set_grad(Tensor::zeros({4}));
    const std::vector<float> before = shared.to_vector<float>();
    sgd.step();
    expected += static_cast<std::int64_t>(round % 5);
    // What the other process wrote is gone, as if it had not been.
    CHECK(shared.to_vector<float>() == before);
  }
  CHECK(in_time);
  CHECK(expected == 40);
  CHECK(sgd.lost_updates().lost == expected);
  CHECK(sgd.lost_updates().checked == 4 * kRounds);
  CHECK(test::end_of(other) == "exited with code 0");
}

TEST_CASE("the estimate extrapolates to all stores", "[parallel]") {
  LostUpdates counts{.checked = 100, .lost = 2, .stores = 5000};
  CHECK(counts.estimate() == 100);
  counts += {.checked = 100, .lost = 0, .stores = 1000};
  CHECK(counts.estimate() == 60);
  CHECK(LostUpdates{}.estimate() == 0);
}

TEST_CASE("negative probe options are refused", "[parallel]") {
  CHECK_THROWS_AS(ProbedSgd({parameter(2)}, {.lr = 1}, {.every = -1}), ContractError);
  CHECK_THROWS_AS(ProbedSgd({parameter(2)}, {.lr = 1}, {.probes = -1}), ContractError);
}

}  // namespace
}  // namespace plab::parallel
