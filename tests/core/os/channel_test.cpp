// SPDX-License-Identifier: Apache-2.0
// pipe.h and socket.h
#include <sys/resource.h>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>
#include <numeric>

#include "plab/base/error.h"
#include "plab/os/memfd.h"
#include "plab/os/pipe.h"
#include "plab/os/socket.h"
#include "support/gate.h"
#include "support/leak_audit.h"

using namespace plab;
using namespace plab::literals;
using namespace std::chrono_literals;

namespace {
std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 % 251);
  return bytes;
}
}  // namespace

TEST_CASE("more bytes than a pipe holds arrive whole and in order", "[os][fork]") {
  auto pipe = os::create_pipe();
  const auto sent = numbered(1'000'003);
  auto child = test::run_child([&] {
    pipe.read.reset();
    os::write_full(pipe.write.get(), sent, test::patience());
    return 0;
  });
  pipe.write.reset();
  std::vector<std::byte> got(sent.size() + 10);
  CHECK(os::read_full(pipe.read.get(), got, test::patience()) == sent.size());
  got.resize(sent.size());
  CHECK(got == sent);
  CHECK(test::end_of(child) == "exited with code 0");
}

TEST_CASE("reading an empty pipe and writing a full one end at the deadline", "[os]") {
  auto pipe = os::create_pipe();
  std::byte one[1];
  CHECK_FALSE(os::read_some(pipe.read.get(), one, Deadline::after(1ms)).has_value());
  CHECK_THROWS_AS((void)os::read_full(pipe.read.get(), one, Deadline::passed()), TimeoutError);
  const auto much = numbered(1 << 20);
  CHECK_THROWS_AS(os::write_full(pipe.write.get(), much, Deadline::after(5ms)), TimeoutError);
}

TEST_CASE("writing to a pipe that nobody reads is PeerDied, not SIGPIPE", "[os]") {
  auto pipe = os::create_pipe();
  pipe.read.reset();
  CHECK_THROWS_AS(os::write_full(pipe.write.get(), numbered(3), Deadline::never()), PeerDied);
  auto sockets = os::create_socket_pair();
  sockets.second.reset();
  CHECK_THROWS_AS(os::write_full(sockets.first.get(), numbered(3), Deadline::never()), PeerDied);
  CHECK_THROWS_AS((void)os::send_message(sockets.first.get(), numbered(3), {}, Deadline::never()),
                  PeerDied);
}

TEST_CASE("descriptors travel with a message and work after the sender has closed its own",
          "[os]") {
  const test::LeakAudit audit;
  {
    const auto sockets = os::create_socket_pair();
    {
      const auto a = os::create_memfd("a", 3_KiB);
      const auto b = os::create_memfd("b", 5_KiB);
      const int both[] = {a.get(), b.get()};
      CHECK(os::send_message(sockets.first.get(), numbered(10), both, Deadline::never()) ==
            os::SendResult::kSent);
    }
    std::vector<std::byte> bytes(100);
    const auto got = os::recv_message(sockets.second.get(), bytes, 2, Deadline::never());
    REQUIRE(got);
    CHECK(got->bytes == 10);
    REQUIRE(got->descriptors.size() == 2);
    CHECK(os::file_use(got->descriptors[0].get()).size == 3072);
    CHECK(os::file_use(got->descriptors[1].get()).size == 5120);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("a peek reads at its offset again and again and consumes nothing", "[os]") {
  const auto sockets = os::create_socket_pair();
  for (std::size_t i = 1; i <= 3; ++i) {
    const auto fd = os::create_memfd("x", Bytes{i * 1000});
    const int number = fd.get();
    (void)os::send_message(sockets.first.get(), numbered(8), std::span(&number, 1),
                           Deadline::never());
  }
  std::vector<std::byte> bytes(8);
  const auto peeked = [&] {
    const auto got =
        os::recv_message(sockets.second.get(), bytes, 1, Deadline::passed(), os::Peek::kYes);
    return got ? os::file_use(got->descriptors.at(0).get()).size : 0;
  };
  for (int round = 0; round < 2; ++round) {
    os::set_peek_offset(sockets.second.get(), 0);
    CHECK(peeked() == 1000);
    CHECK(peeked() == 2000);
    CHECK(peeked() == 3000);
    CHECK(peeked() == 0);
  }
  os::set_peek_offset(sockets.second.get(), 8);
  CHECK(peeked() == 2000);
}

TEST_CASE("more descriptors than expected are refused and not leaked", "[os]") {
  const test::LeakAudit audit;
  {
    const auto sockets = os::create_socket_pair();
    const auto fd = os::create_memfd("a", 3_KiB);
    const int both[] = {fd.get(), fd.get()};
    (void)os::send_message(sockets.first.get(), numbered(10), both, Deadline::never());
    std::vector<std::byte> bytes(100);
    CHECK_THROWS_AS((void)os::recv_message(sockets.second.get(), bytes, 1, Deadline::never()),
                    CorruptError);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("at the descriptor limit a lost descriptor is an error that names the limit", "[os]") {
  const auto sockets = os::create_socket_pair();
  {
    const auto fd = os::create_memfd("a", 3_KiB);
    const std::vector<int> many(10, fd.get());
    (void)os::send_message(sockets.first.get(), numbered(4), many, Deadline::never());
  }
  const auto end = test::end_of_child([&] {
    const auto limit = static_cast<rlim_t>(sockets.second.get() + 4);
    const rlimit few{limit, limit};
    ::setrlimit(RLIMIT_NOFILE, &few);
    std::vector<std::byte> bytes(100);
    try {
      (void)os::recv_message(sockets.second.get(), bytes, 10, Deadline::never());
    } catch (const ResourceError& problem) {
      const bool named =
          std::string(problem.what()).find(std::to_string(limit)) != std::string::npos;
      return named && os::create_pipe().read ? 0 : 1;  // those that did arrive were closed
    }
    return 2;
  });
  CHECK(end == "exited with code 0");
}

TEST_CASE("an empty message or too many descriptors are contract errors", "[os]") {
  const auto sockets = os::create_socket_pair();
  const std::vector<int> many(os::kMaxDescriptors + 1, 0);
  CHECK_THROWS_AS((void)os::send_message(sockets.first.get(), {}, {}, Deadline::never()),
                  ContractError);
  CHECK_THROWS_AS((void)os::send_message(sockets.first.get(), numbered(1), many, Deadline::never()),
                  ContractError);
}

TEST_CASE("the end of the other side is a message of no bytes", "[os]") {
  auto sockets = os::create_socket_pair();
  sockets.first.reset();
  std::vector<std::byte> bytes(4);
  const auto got = os::recv_message(sockets.second.get(), bytes, 1, Deadline::never());
  REQUIRE(got);
  CHECK(got->bytes == 0);
}
