// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/sync.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <string>

#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/spawn.h"
#include "plab/tensor/tensor.h"

using namespace plab;
using namespace std::chrono_literals;

namespace {
const Deadline kNever = Deadline::never();

void count_up(int /*rank*/, mp::Lock lock, Tensor counter, int times) {
  auto* const value = counter.data<std::int64_t>();
  for (int i = 0; i < times; ++i) {
    const mp::Guard guard(lock, kNever);
    *value = *value + 1;
  }
}
void take_and_die(mp::Lock lock) {
  (void)lock.acquire(kNever);
  mp::exit_process(0);
}
void wait_turn(int rank, mp::Condition turn, Tensor next, mp::SimpleQueue<int> order) {
  (void)turn.acquire(kNever);
  const bool came = turn.wait_for([&] { return *next.data<std::int64_t>() == rank; }, kNever);
  order.put(came ? rank : -1, kNever);
  ++*next.data<std::int64_t>();
  turn.notify_all();
  turn.release();
}
}  // namespace

TEST_CASE("a lock excludes processes of every start method", "[mp][sync]") {
  const auto method =
      GENERATE(mp::StartMethod::kFork, mp::StartMethod::kSpawn, mp::StartMethod::kForkServer);
  mp::Lock lock;
  const Tensor counter = Tensor::zeros({1}, DType::kI64);
  counter.share_memory();
  mp::spawn(count_up, std::tuple(lock, counter, 2000), 3, {.start_method = method});
  CHECK(counter.item<std::int64_t>() == 6000);
}

TEST_CASE("the next owner is told that the last one died", "[mp][sync]") {
  mp::Lock lock;
  mp::Process process(mp::ProcessOptions{.start_method = mp::StartMethod::kFork}, take_and_die,
                      lock);
  process.start();
  CHECK(process.join(kNever));
  const auto result = lock.acquire(kNever);
  CHECK(result.owner_died());
  CHECK(result.dead_pid == process.pid());
  lock.release();
  CHECK_THROWS_AS(lock.release(), ContractError);
}

TEST_CASE("a recursive lock is free after as many releases", "[mp][sync]") {
  mp::RLock lock;
  CHECK(lock.acquire(kNever).acquired());
  CHECK(lock.acquire(kNever).acquired());
  lock.release();
  mp::Process other(mp::kForkOnly,
                    [&] { mp::exit_process(lock.acquire(Deadline::passed()).acquired() ? 1 : 0); });
  other.start();
  CHECK(other.join(kNever));
  CHECK(other.exitcode() == 0);
  lock.release();
  CHECK_THROWS_AS(lock.release(), ContractError);
}

TEST_CASE("a bounded semaphore refuses a permit too many", "[mp][sync]") {
  mp::BoundedSemaphore bounded(2);
  CHECK(bounded.acquire(Deadline::passed()));
  bounded.release();
  CHECK_THROWS_AS(bounded.release(), ContractError);
  mp::Semaphore free_one(0);
  CHECK_FALSE(free_one.acquire(Deadline::after(1ms)));
  free_one.release(3);
  CHECK(free_one.value() == 3);
}

TEST_CASE("a condition lets processes go in turn", "[mp][sync]") {
  mp::Condition turn;
  mp::SimpleQueue<int> order;
  const Tensor next = Tensor::zeros({1}, DType::kI64);
  next.share_memory();
  mp::spawn(wait_turn, std::tuple(turn, next, order), 4);
  for (int rank = 0; rank < 4; ++rank) CHECK(order.try_get() == rank);
}

TEST_CASE("handles that stand for nothing say so", "[mp][sync]") {
  CHECK_THROWS_AS(mp::Event::unbound().set(), ContractError);
  CHECK_THROWS_AS(mp::Lock::unbound().release(), ContractError);
}
