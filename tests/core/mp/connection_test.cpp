// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/connection.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/os/pipe.h"
#include "plab/tensor/tensor.h"

using namespace plab;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {
const Deadline kNever = Deadline::never();

void answer_squares(mp::Connection line) {
  try {
    while (true) line.send(line.recv<int>(kNever).value() + 1, kNever);
  } catch (const mp::EndOfFile&) {
    mp::exit_process(3);
  }
}
}  // namespace

TEST_CASE("both ends send and receive values of any type in turn", "[mp][connection]") {
  auto [a, b] = mp::Pipe();
  CHECK_FALSE(b.poll(Deadline::passed()));
  CHECK_FALSE(b.recv<int>(Deadline::after(1ms)).has_value());
  CHECK(a.send(5, kNever));
  CHECK(a.send(std::string("text"), kNever));
  CHECK(a.send(Tensor::full({3}, 2), kNever));
  CHECK(b.poll(kNever));
  CHECK(b.recv<int>(kNever) == 5);
  CHECK(b.recv<std::string>(kNever) == "text");
  CHECK(b.recv<Tensor>(kNever).value().to_vector<float>() == std::vector<float>(3, 2.0F));
  CHECK(b.send(std::vector<int>{}, kNever));
  CHECK(a.recv<std::vector<int>>(kNever).value().empty());
}

TEST_CASE("another type than was sent is a clear error, and the line goes on", "[mp][connection]") {
  auto [a, b] = mp::Pipe();
  a.send(1, kNever);
  a.send(2, kNever);
  CHECK_THROWS_AS(b.recv<double>(kNever), CorruptError);
  CHECK(b.recv<int>(kNever) == 2);
}

TEST_CASE("a simplex line has a receiver and a sender", "[mp][connection]") {
  auto [in, out] = mp::Pipe(mp::Duplex::kNo);
  CHECK(out.send(1, kNever));
  CHECK(in.recv<int>(kNever) == 1);
  CHECK_THROWS_AS(in.send(1, kNever), ContractError);
  CHECK_THROWS_AS(out.recv<int>(kNever), ContractError);
}

TEST_CASE("the end is told after the last message", "[mp][connection]") {
  auto [a, b] = mp::Pipe();
  a.send(9, kNever);
  a.close();
  CHECK(a.closed());
  CHECK_THROWS_AS(a.send(1, kNever), ContractError);
  CHECK(b.recv<int>(kNever) == 9);
  CHECK(b.poll(Deadline::passed()));
  CHECK_THROWS_AS(b.recv<int>(kNever), mp::EndOfFile);
  CHECK_THROWS_AS(b.send(1, kNever), PeerDied);
}

TEST_CASE("a message of ten megabytes goes through", "[mp][connection][threads]") {
  auto [a, b] = mp::Pipe();
  const std::string large(10'000'000, 'L');
  std::jthread sender([&a = a, &large] { a.send(large, kNever); });
  CHECK(b.recv<std::string>(kNever) == large);
  std::jthread bytes([&a = a, &large] { a.send_bytes(std::as_bytes(std::span(large)), kNever); });
  CHECK(b.recv_bytes(kNever).value().size() == large.size());
}

TEST_CASE("a message that nobody reads ends at the deadline and closes the line",
          "[mp][connection]") {
  auto [a, b] = mp::Pipe();
  CHECK_THROWS_AS(a.send(std::string(10'000'000, 'L'), Deadline::after(5ms)), TimeoutError);
  CHECK(a.closed());
  CHECK_THROWS_AS(b.recv<std::string>(kNever), mp::EndOfFile);
}

TEST_CASE("a line that was moved to a child is closed here", "[mp][connection]") {
  auto [a, b] = mp::Pipe();
  mp::Process process(mp::ProcessOptions{.start_method = mp::StartMethod::kSpawn}, answer_squares,
                      std::move(b));
  process.start();
  for (int i = 0; i < 20; ++i) {
    a.send(i, kNever);
    CHECK(a.recv<int>(kNever) == i + 1);
  }
  a.close();
  CHECK(process.join(kNever));
  CHECK(process.exitcode() == 3);
}

TEST_CASE("the death of the peer is the end of the line", "[mp][connection][kill]") {
  auto [a, b] = mp::Pipe();
  mp::Process process(mp::ProcessOptions{.start_method = mp::StartMethod::kSpawn}, answer_squares,
                      std::move(b));
  process.start();
  a.send(1, kNever);
  CHECK(a.recv<int>(kNever) == 2);
  process.kill();
  CHECK_THROWS_AS(a.recv<int>(kNever), mp::EndOfFile);
  CHECK(process.join(kNever));
}

TEST_CASE("a line does not go through a queue", "[mp][connection]") {
  mp::SimpleQueue<mp::Connection> queue;
  auto [a, b] = mp::Pipe();
  CHECK_THROWS_WITH(queue.try_put(b), ContainsSubstring("as an argument"));
}

TEST_CASE("bytes that are no message are refused", "[mp][connection]") {
  auto [a, b] = mp::Pipe();
  const std::string junk(100, 'j');
  os::write_full(a.descriptor(), std::as_bytes(std::span(junk)), kNever);
  CHECK_THROWS_AS(b.recv<int>(kNever), CorruptError);
  CHECK(b.closed());
}
