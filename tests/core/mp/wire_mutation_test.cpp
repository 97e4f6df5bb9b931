// SPDX-License-Identifier: Apache-2.0
// Damaged messages. Each decode must end in a value or a CorruptError.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "plab/mp/archive.h"
#include "plab/mp/simple_queue.h"
#include "plab/shm/reclaim.h"

using namespace plab;

namespace {

struct Node {
  int number = 0;
  std::vector<Node> kids;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, kids);
  }
};

using Payload = std::tuple<std::string, std::vector<Tensor>, std::map<int, std::vector<bool>>,
                           std::vector<Node>, std::shared_ptr<int>, std::vector<double>, Tensor,
                           std::variant<int, std::string>, mp::SimpleQueue<int>>;

Payload payload(const mp::SimpleQueue<int>& queue) {
  const Tensor base = Tensor::arange(20, DType::kF32).view({4, 5});
  const Tensor leaf = Tensor::ones({3});
  leaf.requires_grad_(true);
  leaf.set_grad(Tensor::zeros({3}));
  return {"hello",
          {base, base.t(), base.slice(0, 1, 3), Tensor::empty({0})},
          {{1, {true, false}}, {-5, {}}},
          {Node{1, {Node{2, {}}, Node{3, {Node{4, {}}}}}}},
          std::make_shared<int>(4),
          {1.5, 2.5, 3.5},
          leaf,
          std::string("variant"),
          queue};
}

std::vector<std::byte> message_of(const Payload& value) {
  mp::wire::Encoder out;
  mp::wire::encode(out, value);
  const auto bytes = out.finish(mp::wire::type_id<Payload>());
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  out.sent();
  return copy;
}

void mutate(std::vector<std::byte>& message, std::mt19937_64& random) {
  const auto pick = [&](std::size_t bound) { return bound == 0 ? 0 : random() % bound; };
  switch (pick(6)) {
    case 0:
      message.resize(pick(message.size() + 1));
      break;
    case 1:
      message.resize(message.size() + pick(64), std::byte{0x41});
      break;
    case 2: {  // a number of eight bytes, of the kinds that overflow
      const std::uint64_t values[] = {
          0, 1, ~0ULL, 1ULL << 63U, 1ULL << 32U, 0x7fffffffffffffff, random()};
      const std::uint64_t value = values[pick(7)];
      if (message.size() >= 8) std::memcpy(&message[pick(message.size() - 7)], &value, 8);
      break;
    }
    case 3: {  // a piece moved over another
      if (message.size() < 32) break;
      const std::size_t length = pick(32);
      std::memmove(&message[pick(message.size() - length)], &message[pick(message.size() - length)],
                   length);
      break;
    }
    default:
      for (std::size_t i = pick(4) + 1; i > 0 && !message.empty(); --i) {
        message[pick(message.size())] ^= std::byte(1U << pick(8));
      }
  }
}

}  // namespace

TEST_CASE("100,000 mutated messages give a value or a CorruptError", "[mp][wire][fuzz]") {
  std::mt19937_64 random(20240611);
  const mp::SimpleQueue<int> queue;
  const Payload value = payload(queue);
  int whole = 0;
  int corrupt = 0;
  for (int i = 0; i < 100'000; ++i) {
    auto message = message_of(value);
    mutate(message, random);
    try {
      const auto got = mp::wire::decode<Payload>(message);
      ++whole;
    } catch (const CorruptError&) {
      ++corrupt;
    }
    // A mutated handle leaves its reference under way: give up those of this round.
    if (i % 1000 == 0) shm::collect();
  }
  CHECK(whole + corrupt == 100'000);
  CHECK(corrupt > 50'000);
  CHECK(whole > 100);
  CHECK(std::get<0>(mp::wire::decode<Payload>(message_of(value))) == "hello");
}
