// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/queue.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <thread>

#include "plab/mp/process.h"
#include "plab/mp/spawn.h"
#include "plab/mp/sync.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/tensor.h"

using namespace plab;
using namespace std::chrono_literals;
using namespace plab::literals;
using Catch::Matchers::ContainsSubstring;

namespace {

const Deadline kNever = Deadline::never();

mp::ProcessOptions by(mp::StartMethod method) {
  return {.start_method = method, .print_errors = mp::PrintErrors::kNo};
}
Tensor non_leaf() {
  Tensor computed = Tensor::ones({2});
  computed.autograd_or_create().requires_grad = true;
  computed.autograd_or_create().grad_fn = std::make_shared<GradNode>();
  return computed;
}
void put_many(mp::Queue<std::string> queue, int count) {
  for (int i = 0; i < count; ++i) queue.put(std::to_string(i) + std::string(500, '.'), kNever);
}
void put_and_cancel(mp::Queue<std::string> queue) {
  queue.cancel_join_thread();
  queue.put(std::string(1'000'000, 'x'), kNever);  // never fits, nobody reads
}
void take_slots_and_die(mp::Queue<std::string> queue, mp::Event took) {
  queue.put(std::string(100'000, 'x'), kNever);  // the feeder blocks in it: the ring is 4 KiB
  queue.put("never written", kNever);
  took.set();
  (void)mp::Event().wait(kNever);
}

}  // namespace

TEST_CASE("maxsize bounds what no reader has taken", "[mp][queue][threads]") {
  mp::Queue<int> queue(2);
  CHECK(queue.put_nowait(1));
  CHECK(queue.put_nowait(2));
  CHECK(queue.full());
  CHECK(queue.qsize() == 2);
  CHECK_FALSE(queue.put_nowait(3));
  CHECK_FALSE(queue.put(3, Deadline::after(2ms)));
  CHECK(queue.get(kNever) == 1);
  CHECK_FALSE(queue.full());
  CHECK(queue.put(4, kNever));
  CHECK(queue.get(kNever) == 2);
  CHECK(queue.get(kNever) == 4);
  CHECK(queue.qsize() == 0);
  CHECK(queue.empty());
  CHECK_FALSE(queue.get(Deadline::after(2ms)).has_value());
}

TEST_CASE("put does not wait for readers", "[mp][queue][threads]") {
  mp::Queue<std::string> queue(0, 4_KiB);
  for (int i = 0; i < 100; ++i) CHECK(queue.put(std::string(1'000, 'a'), kNever));
  for (int i = 0; i < 100; ++i) CHECK(queue.get(kNever).value().size() == 1'000);
}

TEST_CASE("a value that cannot be sent is lost, counted, and its slot given back",
          "[mp][queue][threads]") {
  mp::Queue<Tensor> queue(1);
  CHECK(queue.put(non_leaf(), kNever));            // no error here: QUE-07
  CHECK(queue.put(Tensor::full({1}, 5), kNever));  // waits for the slot of the lost one
  CHECK(queue.get(kNever).value().item<float>() == 5);
  CHECK(queue.errors() == 1);
  CHECK_THAT(queue.last_error(), ContainsSubstring("ContractError: Cowardly refusing"));
}

TEST_CASE("after close this process puts and gets no more", "[mp][queue][threads]") {
  mp::Queue<int> queue;
  CHECK_THROWS_WITH(queue.join_thread(), ContainsSubstring("before close()"));
  queue.put(1, kNever);
  mp::Queue<int> other = queue;
  queue.close();
  queue.join_thread();
  CHECK_THROWS_AS(queue.put_nowait(2), ContractError);
  CHECK_THROWS_AS(other.get_nowait(), ContractError);
  queue.join_thread();  // again: nothing to do
}

TEST_CASE("all that a process has put is there after its end", "[mp][queue]") {
  const auto method =
      GENERATE(mp::StartMethod::kFork, mp::StartMethod::kSpawn, mp::StartMethod::kForkServer);
  mp::Queue<std::string> queue(0, 4_KiB);
  mp::Process process(by(method), put_many, queue, 50);
  process.start();
  for (int i = 0; i < 50; ++i) {
    CHECK(queue.get(kNever).value().substr(0, 3).starts_with(std::to_string(i)));
  }
  CHECK(process.join(kNever));
  CHECK(process.exitcode() == 0);
}

TEST_CASE("cancel_join_thread lets a process end with values unwritten", "[mp][queue]") {
  mp::Queue<std::string> queue(0, 4_KiB);
  mp::Process process(by(mp::StartMethod::kFork), put_and_cancel, queue);
  process.start();
  CHECK(process.join(kNever));
  CHECK(process.exitcode() == 0);
}

TEST_CASE("a forked child starts with an empty list and no feeder", "[mp][queue]") {
  mp::Queue<std::string> queue(0, 4_KiB);
  for (int i = 0; i < 20; ++i) queue.put(std::string(1'000, 'p'), kNever);  // most still listed
  mp::Process process(mp::kForkOnly, [&] { queue.put("from the child", kNever); });
  process.start();
  int of_child = 0;
  int of_parent = 0;
  for (int i = 0; i < 21; ++i) {
    (queue.get(kNever).value() == "from the child" ? of_child : of_parent) += 1;
  }
  CHECK(of_child == 1);
  CHECK(of_parent == 20);
  CHECK(process.join(kNever));
  CHECK_FALSE(queue.get_nowait().has_value());
}

TEST_CASE("slots of a killed writer come back, and its torn message is told", "[mp][queue][kill]") {
  mp::Queue<std::string> queue(2, 4_KiB);
  mp::Event took;
  mp::Process process(by(mp::StartMethod::kFork), take_slots_and_die, queue, took);
  process.start();
  CHECK(took.wait(kNever));
  while (queue.empty()) std::this_thread::yield();  // the gate: the feeder is within the message
  CHECK_FALSE(queue.put_nowait("full"));
  process.kill();
  CHECK(process.join(kNever));
  CHECK(queue.put("a", kNever));
  CHECK(queue.put("b", kNever));
  bool told = false;
  std::set<std::string> got;
  while (got.size() < 2) {
    try {
      got.insert(queue.get(kNever).value());
    } catch (const PeerDied& error) {
      CHECK_THAT(error.what(), ContainsSubstring(std::to_string(process.pid())));
      told = true;
    }
  }
  CHECK(got == std::set<std::string>{"a", "b"});
  CHECK(told);
}

TEST_CASE("a queue goes through a queue and is one queue", "[mp][queue][threads]") {
  mp::Queue<mp::Queue<int>> outer;
  mp::Queue<int> inner(3);
  outer.put(inner, kNever);
  auto got = outer.get(kNever).value();
  got.put(17, kNever);
  CHECK(inner.get(kNever) == 17);
}
