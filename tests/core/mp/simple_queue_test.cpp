// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/simple_queue.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <deque>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "plab/mp/process.h"
#include "plab/mp/spawn.h"
#include "plab/mp/sync.h"
#include "plab/shm/reclaim.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

using namespace plab;
using namespace std::chrono_literals;
using namespace plab::literals;
using Catch::Matchers::ContainsSubstring;

namespace {

const Deadline kNever = Deadline::never();
using Item = std::pair<int, std::string>;

/// Irregular sizes: from nothing to over the whole ring of 4 KiB.
std::string body_of(int number) {
  std::mt19937 random(static_cast<unsigned>(number));
  const std::size_t size = number % 50 == 0 ? 9'000 + random() % 9'000 : random() % 300;
  return std::string(size, static_cast<char>('a' + number % 26));
}

void write_items(int rank, mp::SimpleQueue<Item> queue, int each) {
  for (int i = 0; i < each; ++i) {
    const int number = rank * each + i;
    queue.put({number, body_of(number)}, kNever);
  }
}
void echo(mp::SimpleQueue<Tensor> in, mp::SimpleQueue<Tensor> out) {
  while (auto tensor = in.get(kNever)) {
    if (!tensor->defined()) return;
    out.put(*tensor, kNever);
  }
}
void put_and_exit(mp::SimpleQueue<Tensor> queue) {
  for (int i = 0; i < 5; ++i) queue.put(Tensor::full({1000 + i}, i), kNever);
}

}  // namespace

TEST_CASE("values come out in the order in which they went in", "[mp][simple_queue]") {
  mp::SimpleQueue<int> queue;
  CHECK(queue.empty());
  CHECK_FALSE(queue.try_get().has_value());
  for (int i = 0; i < 100; ++i) CHECK(queue.try_put(i * i));
  CHECK_FALSE(queue.empty());
  for (int i = 0; i < 100; ++i) CHECK(queue.get(kNever) == i * i);
  CHECK(queue.empty());
  CHECK_FALSE(queue.get(Deadline::after(2ms)).has_value());
}

TEST_CASE("a full queue refuses at the deadline and takes again when there is room",
          "[mp][simple_queue]") {
  mp::SimpleQueue<std::string> queue(4_KiB);
  std::deque<std::string> model;
  const auto try_one = [&](int number) {
    std::string text(static_cast<std::size_t>(50 + number % 97),
                     static_cast<char>('a' + number % 26));
    if (!queue.try_put(text)) return false;
    model.push_back(std::move(text));
    return true;
  };
  int number = 0;
  while (try_one(number)) ++number;
  CHECK(number > 15);
  CHECK(number < 41);
  CHECK_FALSE(queue.put(std::string(150, 'x'), Deadline::after(2ms)));
  for (int round = 0; round < 500; ++round) {  // around the end of the ring, many times
    REQUIRE(queue.get(kNever).value() == model.front());
    model.pop_front();
    while (try_one(++number)) continue;
    CHECK(model.size() > 10);
  }
}

TEST_CASE("a message longer than the ring waits for a reader", "[mp][simple_queue][threads]") {
  mp::SimpleQueue<std::string> queue(4_KiB);
  const std::string large(100'000, 'q');
  CHECK_FALSE(queue.put(large, Deadline::after(2ms)));  // nobody reads: given up, and not put
  std::jthread writer([&] {
    queue.put(large, kNever);
    queue.put("after", kNever);
  });
  CHECK(queue.get(kNever) == large);
  CHECK(queue.get(kNever) == "after");
}

TEST_CASE("a refused value is the caller's error and leaves the queue as it was",
          "[mp][simple_queue]") {
  mp::SimpleQueue<Tensor> queue;
  const Tensor computed = Tensor::ones({2});
  computed.autograd_or_create().requires_grad = true;
  computed.autograd_or_create().grad_fn = std::make_shared<GradNode>();
  CHECK_THROWS_WITH(queue.put(computed, kNever), ContainsSubstring("Cowardly refusing"));
  CHECK(queue.empty());
}

TEST_CASE("a tensor goes to another process and back as the same storage", "[mp][simple_queue]") {
  mp::SimpleQueue<Tensor> there;
  mp::SimpleQueue<Tensor> back;
  mp::Process process(mp::ProcessOptions{.start_method = mp::StartMethod::kSpawn}, echo, there,
                      back);
  process.start();
  const Tensor tensor = Tensor::arange(12, DType::kF32);
  for (int i = 0; i < 50; ++i) {
    there.put(tensor.narrow(0, i % 6, 6), kNever);
    const auto got = back.get(kNever);
    CHECK(got.value().storage().is_same(tensor.storage()));
    CHECK(got.value().storage_offset() == i % 6);
  }
  there.put(Tensor(), kNever);
  CHECK(process.join(kNever));
}

TEST_CASE("the sender may exit at once after put", "[mp][simple_queue]") {
  mp::SimpleQueue<Tensor> queue;
  mp::Process process(mp::ProcessOptions{.start_method = mp::StartMethod::kSpawn}, put_and_exit,
                      queue);
  process.start();
  CHECK(process.join(kNever));
  for (int i = 0; i < 5; ++i) {
    const Tensor got = queue.get(kNever).value();
    CHECK(got.numel() == 1000 + i);
    CHECK(sum(got).item<double>() == i * (1000 + i));
  }
}

TEST_CASE("many writers and readers: each item once, each writer's in order",
          "[mp][simple_queue]") {
  constexpr int kWriters = 3;
  constexpr int kEach = 400;
  mp::SimpleQueue<Item> queue(4_KiB);
  auto writers = mp::start_processes(write_items, std::tuple(queue, kEach), kWriters,
                                     {.start_method = mp::StartMethod::kFork});
  std::vector<std::vector<Item>> got(2);
  {
    std::atomic<int> left{kWriters * kEach};
    std::vector<std::jthread> readers;
    for (auto& mine : got) {
      readers.emplace_back([&] {
        while (left.fetch_sub(1) > 0) mine.push_back(queue.get(kNever).value());
      });
    }
  }
  CHECK(writers.join(kNever));
  std::set<int> numbers;
  for (const auto& mine : got) {
    std::vector<int> last(kWriters, -1);
    for (const auto& [number, text] : mine) {
      CHECK(text == body_of(number));
      CHECK(numbers.insert(number).second);
      CHECK(number > last[static_cast<std::size_t>(number / kEach)]);
      last[static_cast<std::size_t>(number / kEach)] = number;
    }
  }
  CHECK(numbers.size() == kWriters * kEach);
}

TEST_CASE("a queue goes through a queue", "[mp][simple_queue]") {
  mp::SimpleQueue<mp::SimpleQueue<int>> outer;
  mp::SimpleQueue<int> inner;
  outer.put(inner, kNever);
  auto got = outer.get(kNever).value();
  got.put(41, kNever);
  CHECK(inner.get(kNever) == 41);
  CHECK_THROWS_AS(mp::SimpleQueue<int>::unbound().try_put(1), ContractError);
}

TEST_CASE("messages that nobody reads give back their tensors with the queue",
          "[mp][simple_queue]") {
  const auto before = shm::stats().blocks_in_use;
  {
    mp::SimpleQueue<std::vector<Tensor>> queue;
    for (int i = 1; i < 5; ++i) {
      queue.put({Tensor::ones({i}), Tensor::ones({2 * i}), Tensor::ones({0})}, kNever);
    }
    (void)queue.get(kNever);
    CHECK(shm::stats().blocks_in_use > before);
  }
  CHECK(shm::stats().blocks_in_use == before);
}

TEST_CASE("a queue of another type is refused", "[mp][simple_queue]") {
  mp::SimpleQueue<int> queue;
  mp::wire::Encoder out;
  mp::wire::encode(out, queue);
  const auto message = out.finish(mp::wire::type_id<mp::SimpleQueue<float>>());
  const std::vector<std::byte> copy(message.begin(), message.end());
  out.sent();
  CHECK_THROWS_WITH(mp::wire::decode<mp::SimpleQueue<float>>(copy),
                    ContainsSubstring("another type"));
}
