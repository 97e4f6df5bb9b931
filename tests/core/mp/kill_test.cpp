// SPDX-License-Identifier: Apache-2.0
// Queues whose writers and readers are killed at any moment, and queues at the descriptor limit.
#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "plab/mp/process.h"
#include "plab/mp/queue.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/spawn.h"
#include "plab/os/proc.h"
#include "plab/tensor/ops.h"

using namespace plab;
using namespace plab::literals;
using Catch::Matchers::ContainsSubstring;

namespace {

const Deadline kNever = Deadline::never();
using Item = std::pair<int, std::string>;

std::string body_of(int number) {
  std::mt19937 random(static_cast<unsigned>(number) + 7);
  const std::size_t size = number % 7 == 0 ? 5'000 + random() % 20'000 : random() % 200;
  return std::string(size, static_cast<char>('A' + number % 26));
}

void write_until_killed(mp::SimpleQueue<Item> queue) {
  for (int i = 0;; ++i) queue.put({i, body_of(i)}, kNever);
}
void read_until_killed(mp::SimpleQueue<Item> queue, mp::SimpleQueue<int> got) {
  while (true) got.put(queue.get(kNever).value().first, kNever);
}
/// Ten thousand tensors through a queue, with 128 descriptors.
void consume_tensors(mp::SimpleQueue<Tensor> queue, mp::SimpleQueue<int> answer, int count) {
  const rlimit limit{128, 128};
  setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<Tensor> kept;
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    kept.push_back(queue.get(kNever).value());
    if (kept.back().numel() != 1 + i % 5 || kept.back().at<float>({i % 5}) != float(i)) ++wrong;
  }
  const bool few = os::open_descriptors().size() < 64;
  answer.put(few ? wrong : -1, kNever);
}
void produce_tensors(mp::SimpleQueue<Tensor> queue, int count) {
  const rlimit limit{128, 128};
  setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<Tensor> kept;
  for (int i = 0; i < count; ++i) {
    kept.push_back(Tensor::full({1 + i % 5}, i));
    queue.put(kept.back(), kNever);
  }
}

}  // namespace

TEST_CASE("a writer that is killed at any moment costs at most its own message", "[mp][kill]") {
  std::mt19937 random(4711);
  mp::SimpleQueue<Item> queue(4_KiB);
  int torn = 0;
  for (int round = 0; round < 60; ++round) {
    mp::Process writer({.start_method = mp::StartMethod::kFork}, write_until_killed, queue);
    writer.start();
    const int before = 1 + static_cast<int>(random() % 30);
    for (int i = 0; i < before; ++i) {
      const Item got = queue.get(kNever).value();
      REQUIRE(got.first == i);
      REQUIRE(got.second == body_of(i));
    }
    writer.kill();
    REQUIRE(writer.join(kNever));
    // What it had written whole is there, in order; a torn one is told, with its pid.
    int next = before;
    while (true) {
      try {
        const auto got = queue.try_get();
        if (!got) break;
        REQUIRE(got->first == next);
        REQUIRE(got->second == body_of(next));
        ++next;
      } catch (const PeerDied& error) {
        CHECK_THAT(error.what(), ContainsSubstring(std::to_string(writer.pid())));
        ++torn;
      }
    }
  }
  CHECK(torn > 0);  // the seed is such that some were within a long message
  CHECK(queue.put({-1, "still works"}, kNever));
  CHECK(queue.get(kNever).value().second == "still works");
}

TEST_CASE("a reader that is killed at any moment loses at most the message it was in",
          "[mp][kill]") {
  std::mt19937 random(815);
  for (int round = 0; round < 30; ++round) {
    mp::SimpleQueue<Item> queue(4_KiB);
    mp::SimpleQueue<int> got(1_MiB);
    mp::Process reader({.start_method = mp::StartMethod::kFork}, read_until_killed, queue, got);
    reader.start();
    const int count = 40;
    const int kill_at = 1 + static_cast<int>(random() % (count - 2));
    for (int i = 0; i < count; ++i) {
      if (i == kill_at) {
        reader.kill();
        REQUIRE(reader.join(kNever));
        mp::Process second({.start_method = mp::StartMethod::kFork}, read_until_killed, queue, got);
        reader = std::move(second);
        reader.start();
      }
      REQUIRE(queue.put({i, body_of(i)}, kNever));
    }
    std::set<int> numbers;
    while (!numbers.contains(count - 1)) {
      const auto number = got.get(kNever);
      REQUIRE(numbers.insert(number.value()).second);  // none twice
    }
    reader.kill();
    REQUIRE(reader.join(kNever));
    CHECK(numbers.size() + 1 >= count);
  }
}

TEST_CASE("10,000 tensors go through a queue with 128 descriptors on both sides", "[mp][limit]") {
  const auto method = GENERATE(mp::StartMethod::kFork, mp::StartMethod::kSpawn);
  constexpr int kCount = 10'000;
  mp::SimpleQueue<Tensor> queue;
  mp::SimpleQueue<int> answer;
  mp::Process reader({.start_method = method}, consume_tensors, queue, answer, kCount);
  mp::Process writer({.start_method = method}, produce_tensors, queue, kCount);
  reader.start();
  writer.start();
  CHECK(answer.get(kNever) == 0);
  CHECK(reader.join(kNever));
  CHECK(writer.join(kNever));
  CHECK(writer.exitcode() == 0);
}
