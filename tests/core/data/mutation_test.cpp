// SPDX-License-Identifier: Apache-2.0
// 100,000 mutations of each format: read or refused with DataError, nothing else.

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <string>

#include "core/data/gzip.h"
#include "plab/base/error.h"
#include "plab/data/csv.h"
#include "plab/data/idx.h"
#include "plab/data/source.h"

namespace data = plab::data;

namespace {

constexpr int kMutations = 100'000;

// Changes, removes, doubles or inserts a few bytes; `likely` are the bytes that hurt most.
std::string mutate(std::string bytes, std::mt19937& random, std::string_view likely) {
  for (std::uint32_t k = random() % 3 + 1; k > 0 && !bytes.empty(); --k) {
    const std::size_t at = random() % bytes.size();
    const char byte =
        random() % 2 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
    switch (random() % 5) {
      case 0:
        bytes[at] = byte;
        break;
      case 1:
        bytes.insert(at, 1, byte);
        break;
      case 2:
        bytes.erase(at, random() % 8 + 1);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, random() % 16));
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
  }
  return bytes;
}

struct Counts {
  int read = 0;
  int refused = 0;
};

template <typename Parse>
Counts mutate_all(const std::string& bytes, std::uint32_t seed, std::string_view likely,
                  Parse&& parse) {
  std::mt19937 random(seed);
  Counts counts;
  for (int i = 0; i < kMutations; ++i) {
    try {
      parse(mutate(bytes, random, likely));
      ++counts.read;
    } catch (const plab::DataError&) {
      ++counts.refused;
    }
  }
  return counts;
}

void check(const Counts& counts, int least_of_each) {
  CHECK(counts.read + counts.refused == kMutations);
  CHECK(counts.read >= least_of_each);
  CHECK(counts.refused >= least_of_each);
}

}  // namespace

TEST_CASE("100,000 mutated CSV texts are read or refused", "[data][csv][fuzz]") {
  const std::string text = "a,\"b\",c\r\n1,2.5,0\r\n-3e2,\"4\",1\n5,6,2\n7,8,1\n";
  check(mutate_all(text, 1, ",\"\n\r.-+e0 ",
                   [](const std::string& bytes) {
                     const auto set = data::parse_csv(bytes, "mutant");
                     if (set.labels.numel() != set.size() || set.classes < 2) throw 1;
                   }),
        5000);
}

TEST_CASE("100,000 mutated IDX files are read or refused", "[data][idx][fuzz]") {
  std::string bytes("\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02", 16);
  bytes += "abcdefghijkl";
  check(mutate_all(bytes, 2, std::string_view("\0\1\x08\x0d\x0e\xff", 6),
                   [](const std::string& b) {
                     const auto tensor = data::parse_idx(b, "mutant", data::IdxValues::kFeatures);
                     if (tensor.numel() > static_cast<std::int64_t>(b.size())) throw 1;
                   }),
        2000);
}

TEST_CASE("100,000 mutated gzip files are read or refused", "[data][fuzz]") {
  const std::string bytes = test::gzip("1,2.5,0\n-3e2,4,1\n5,6,2\n7,8,1\n1,1,1\n1,1,1\n1,1,1\n");
  check(mutate_all(bytes, 3, std::string_view("\x1f\x8b\0\xff", 4),
                   [](const std::string& b) {
                     if (data::unpack_gzip(b, "mutant", 1U << 16U).size() > (1U << 16U)) throw 1;
                   }),
        100);
}
