// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/wire.h"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <string>
#include <vector>

#include "plab/mp/archive.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/sync.h"
#include "plab/shm/reclaim.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

using namespace plab;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

struct Sample {
  int index = 0;
  std::string name;
  std::vector<std::vector<Tensor>> parts;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(index, name, parts);
  }
};
struct Mute {
  int x;
};
struct Tree {
  std::vector<Tree> kids;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(kids);
  }
};
enum class Colour : std::uint8_t { kRed = 3, kBlue = 7 };

static_assert(mp::Travels<int> && mp::Travels<std::string> && mp::Travels<Colour>);
static_assert(mp::Travels<Sample> && mp::Travels<std::map<std::string, std::vector<Sample>>>);
static_assert(mp::Travels<mp::SimpleQueue<Sample>> && mp::Travels<mp::Lock>);
static_assert(!mp::Travels<Mute> && !mp::Travels<int*> && !mp::Travels<std::vector<Mute>>);
static_assert(!mp::Travels<std::function<void()>> && !mp::Travels<std::pair<int, const char*>>);

template <typename T>
std::vector<std::byte> message_of(const T& value) {
  mp::wire::Encoder out;
  mp::wire::encode(out, value);
  const auto bytes = out.finish(mp::wire::type_id<T>());
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  out.sent();
  return copy;
}

template <typename T>
T round_trip(const T& value) {
  return mp::wire::decode<T>(message_of(value));
}

}  // namespace

TEST_CASE("numbers, strings and containers come back as they were", "[mp][wire]") {
  CHECK(round_trip(-17) == -17);
  CHECK(round_trip(true));
  CHECK(round_trip(Colour::kBlue) == Colour::kBlue);
  CHECK(round_trip(std::string("with\0zero", 9)) == std::string("with\0zero", 9));
  const std::map<std::string, std::vector<double>> table{{"a", {1.5, -2}}, {"", {}}};
  CHECK(round_trip(table) == table);
  const std::vector<bool> bits{true, false, false, true};
  CHECK(round_trip(bits) == bits);
  using Mixed =
      std::tuple<std::optional<int>, std::variant<int, std::string>, std::pair<int, char>>;
  const Mixed mixed{std::nullopt, std::string("x"), {4, 'c'}};
  CHECK(round_trip(mixed) == mixed);
}

TEST_CASE("a tensor arrives as a view of the same memory", "[mp][wire]") {
  const Tensor base = Tensor::arange(24, DType::kF32).view({4, 6});
  const Tensor view = base.slice(1, 1, 6, 2).transpose(0, 1);
  const Tensor got = round_trip(view);
  CHECK(base.is_shared());  // moved in place, as SHM-06 has it
  CHECK(got.sizes() == view.sizes());
  CHECK(got.strides() == view.strides());
  CHECK(got.storage_offset() == 1);
  CHECK(got.to_vector<float>() == view.to_vector<float>());
  got.fill_(7);
  CHECK(base.at<float>({3, 5}) == 7);
  CHECK(base.at<float>({3, 0}) == 18);
}

TEST_CASE("views of one storage in one message stay views of one storage", "[mp][wire]") {
  const Tensor base = Tensor::zeros({10});
  const auto got = round_trip(std::vector<Tensor>{base.narrow(0, 0, 5), base.narrow(0, 3, 7)});
  CHECK(got[0].storage().is_same(got[1].storage()));
  CHECK(got[0].storage().is_same(base.storage()));  // home again: the very same storage
}

TEST_CASE("empty, scalar and undefined tensors travel", "[mp][wire]") {
  const Tensor empty = round_trip(Tensor::empty({0, 3}, DType::kI64));
  CHECK(empty.sizes() == Shape{0, 3});
  CHECK(empty.dtype() == DType::kI64);
  CHECK(round_trip(Tensor::scalar(2.5)).item<double>() == 2.5);
  CHECK_FALSE(round_trip(Tensor()).defined());
}

TEST_CASE("every dtype keeps its bits", "[mp][wire]") {
  for (const auto dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kU8,
                           DType::kBool, DType::kF16, DType::kBF16}) {
    const Tensor sent = Tensor::arange(3, DType::kI64).to(dtype);
    const Tensor got = round_trip(sent);
    CHECK(got.dtype() == dtype);
    CHECK(got.to(DType::kF64).to_vector<double>() == sent.to(DType::kF64).to_vector<double>());
  }
}

TEST_CASE("a leaf that requires grad does so at the receiver, and its gradient goes along",
          "[mp][wire]") {
  const Tensor weight = Tensor::full({2, 2}, 3);
  weight.requires_grad_(true);
  weight.set_grad(Tensor::full({2, 2}, 0.5));
  const Tensor got = round_trip(weight);
  CHECK(got.requires_grad());
  REQUIRE(got.grad().defined());
  CHECK(got.grad().to_vector<float>() == std::vector<float>(4, 0.5F));

  mp::wire::set_share_grad(false);
  CHECK_FALSE(round_trip(weight).grad().defined());  // as PyTorch's code does it (GRD-01)
  mp::wire::set_share_grad(true);
}

TEST_CASE("a tensor that was computed from one that requires grad is refused", "[mp][wire]") {
  const Tensor computed = Tensor::ones({2});
  auto& meta = computed.autograd_or_create();
  meta.requires_grad = true;
  meta.grad_fn = std::make_shared<GradNode>();
  CHECK_THROWS_WITH(
      message_of(computed),
      StartsWith("Cowardly refusing to serialize non-leaf tensor which requires_grad") &&
          ContainsSubstring("detach()"));
  CHECK(round_trip(computed.detach()).to_vector<float>() == std::vector<float>(2, 1.0F));
}

TEST_CASE("what a message refers to is given back when nobody reads it", "[mp][wire]") {
  const auto before = shm::stats().blocks_in_use;
  {
    const std::vector<Tensor> many{Tensor::ones({5}), Tensor::ones({6}), Tensor::ones({7})};
    const auto read = message_of(many);
    const auto dropped = message_of(many);
    const auto half = message_of(std::tuple(many, 1));
    CHECK(mp::wire::decode<std::vector<Tensor>>(read).size() == 3);
    mp::wire::discard(dropped);
    CHECK_THROWS_AS(mp::wire::decode<std::vector<Tensor>>(half), CorruptError);  // another type
  }
  CHECK(shm::stats().blocks_in_use == before);
}

TEST_CASE("an encoder that is not sent gives its references back", "[mp][wire]") {
  const auto before = shm::stats().blocks_in_use;
  {
    const Tensor tensor = Tensor::ones({9});
    mp::wire::Encoder out;
    mp::wire::encode(out, std::vector<Tensor>{tensor, tensor});
  }
  CHECK(shm::stats().blocks_in_use == before);
}

TEST_CASE("a small plain value has one message, made with an encoder or without", "[mp][wire]") {
  const auto same = []<typename T>(const T& value) {
    const auto quick = mp::wire::detail::encode_plain(value);
    auto bytes = message_of(value);
    CHECK(std::ranges::equal(quick, bytes));
    T back{};
    CHECK(mp::wire::detail::decode_plain(bytes, back));
    CHECK(back == value);
    for (const std::size_t at : {std::size_t{0}, std::size_t{5}, std::size_t{9}, std::size_t{17}}) {
      bytes[at] ^= std::byte{1};  // magic, handles, length, type
      CHECK_FALSE(mp::wire::detail::decode_plain(bytes, back));
      CHECK_THROWS_AS(mp::wire::decode<T>(bytes), CorruptError);
      bytes[at] ^= std::byte{1};
    }
    bytes.pop_back();
    CHECK_FALSE(mp::wire::detail::decode_plain(bytes, back));
  };
  same(std::uint8_t{200});
  same(std::int64_t{-7});
  same(2.5);
  same(std::array<float, 3>{1, 2, 3});
  same(std::array<std::uint8_t, 13>{9, 8, 7});
}

TEST_CASE("a false count takes no memory", "[mp][wire]") {
  auto message = message_of(std::vector<std::string>{"a", "b"});
  const std::uint64_t absurd = std::uint64_t{1} << 60U;
  std::memcpy(message.data() + sizeof(mp::wire::Header), &absurd, sizeof absurd);
  CHECK_THROWS_WITH(mp::wire::decode<std::vector<std::string>>(message),
                    ContainsSubstring("a count of"));
}

TEST_CASE("a value nested too deep is refused by the sender", "[mp][wire]") {
  Tree root;
  Tree* at = &root;
  for (int i = 0; i < 2 * mp::wire::kMaxDepth; ++i) at = &at->kids.emplace_back();
  CHECK_THROWS_WITH(message_of(root), ContainsSubstring("nested deeper"));
}

TEST_CASE("an encoder within an encoder has a buffer of its own", "[mp][wire]") {
  mp::wire::Encoder outer;
  mp::wire::encode(outer, 1);
  CHECK(round_trip(std::string(100'000, 'x')).size() == 100'000);
  mp::wire::encode(outer, 2);
  CHECK(outer.body_bytes() == 2 * sizeof(int));
}
