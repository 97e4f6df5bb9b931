// SPDX-License-Identifier: Apache-2.0
#include "plab/data/idx.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "core/data/gzip.h"
#include "plab/base/error.h"
#include "plab/os/temp.h"

namespace data = plab::data;
using plab::DataError;

namespace {

std::string big(std::uint64_t number, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i));
  return out;
}

std::string idx(int type, const std::vector<std::uint32_t>& sizes, const std::string& values) {
  std::string out = big(0, 2) + static_cast<char>(type) + static_cast<char>(sizes.size());
  for (const std::uint32_t size : sizes) out += big(size, 4);
  return out + values;
}

std::string message_of(const std::string& bytes,
                       data::IdxValues kind = data::IdxValues::kFeatures) {
  try {
    static_cast<void>(data::parse_idx(bytes, "f.idx", kind));
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

bool has(const std::string& all, std::string_view part) {
  INFO(all);
  return all.find(part) != std::string::npos;
}

class Files {
 public:
  std::filesystem::path add(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    return folder_.path() / name;
  }

 private:
  plab::os::TempFolder folder_;
};

}  // namespace

TEST_CASE("every IDX type is read, most significant byte first", "[data][idx]") {
  using F = std::vector<float>;
  const auto read = [](int type, const std::string& values) {
    return data::parse_idx(idx(type, {2}, values), "f", data::IdxValues::kFeatures)
        .to_vector<float>();
  };
  CHECK(read(0x08, "\x03\xff") == F{3, 255});
  CHECK(read(0x09, "\x03\xff") == F{3, -1});
  CHECK(read(0x0B, big(0x0102, 2) + big(0xffff, 2)) == F{258, -1});
  CHECK(read(0x0C, big(0x00010000, 4) + big(0xfffffffe, 4)) == F{65536, -2});
  CHECK(read(0x0D, big(std::bit_cast<std::uint32_t>(1.5F), 4) +
                       big(std::bit_cast<std::uint32_t>(-3e-9F), 4)) == F{1.5F, -3e-9F});
  CHECK(read(0x0E, big(std::bit_cast<std::uint64_t>(-0.25), 8) +
                       big(std::bit_cast<std::uint64_t>(1e300 * 0), 8)) == F{-0.25F, 0});
}

TEST_CASE("a pair of images and labels becomes rows and classes", "[data][idx]") {
  const Files files;
  const std::string images = idx(8, {3, 2, 2}, "abcdefghijkl");
  const std::string labels = idx(8, {3}, {"\x02\x00\x01", 3});
  const auto set = data::read_idx_pair(files.add("t-images-idx3-ubyte", images),
                                       files.add("t-labels-idx1-ubyte.gz", test::gzip(labels)));
  CHECK(set.features.sizes() == plab::Shape{3, 4});
  CHECK(set.features.at<float>({1, 2}) == 'g');
  CHECK(set.labels.to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 0, 1});
  CHECK(set.classes == 3);
}

TEST_CASE("the labels beside the images are found by MNIST's names", "[data][idx]") {
  const Files files;
  const auto images = files.add("train-images-idx3-ubyte.gz", test::gzip(idx(8, {1, 1}, "a")));
  CHECK(data::looks_like_idx(images));
  CHECK(data::labels_beside(images).empty());
  const auto labels = files.add("train-labels-idx1-ubyte", idx(8, {1}, "\x01"));
  CHECK(data::labels_beside(images) == labels);
  CHECK_FALSE(data::looks_like_idx(files.add("a.csv", "1,2\n")));
  CHECK_FALSE(data::looks_like_idx("/nowhere"));
  CHECK(data::labels_beside("other").empty());
}

TEST_CASE("a damaged IDX file names the byte and what is valid", "[data][idx]") {
  CHECK(has(message_of(""), "at byte 0"));
  CHECK(has(message_of("\x01\x02\x03\x04"), "two zero bytes"));
  CHECK(has(message_of(idx(7, {1}, "a")), "0x07"));
  CHECK(has(message_of(idx(8, {}, "")), "0 dimensions"));
  CHECK(has(message_of(idx(8, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "a")), "9 dimensions"));
  CHECK(has(message_of(idx(8, {2, 3}, "").substr(0, 9)), "within the 2 sizes"));
  CHECK(has(message_of(idx(8, {2, 2}, "abc")), "need 4"));
  CHECK(has(message_of(idx(8, {2, 2}, "abcde")), "after 5 bytes"));
  CHECK(has(message_of(idx(8, {0}, "")), "is 0"));
  CHECK(has(message_of(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, "abc")), "need more"));
  const auto nan = big(std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()), 4);
  CHECK(has(message_of(idx(0x0D, {2}, big(0, 4) + nan)), "at byte 12"));
  const auto huge = big(std::bit_cast<std::uint64_t>(1e300), 8);
  CHECK(has(message_of(idx(0x0E, {1}, huge)), "float32"));
  const auto half = big(std::bit_cast<std::uint32_t>(0.5F), 4);
  CHECK(has(message_of(idx(0x0D, {1}, half), data::IdxValues::kLabels), "whole"));
}

TEST_CASE("a pair that does not fit together is refused", "[data][idx]") {
  const Files files;
  const auto images = files.add("i", idx(8, {2, 1}, "ab"));
  const auto refused = [&](const std::string& labels) {
    try {
      static_cast<void>(data::read_idx_pair(images, files.add("l", labels), {.most_classes = 5}));
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(has(refused(idx(8, {3}, {"\0\1\2", 3})), "3 labels for the 2 samples"));
  CHECK(has(refused(idx(8, {2, 1}, {"\0\1", 2})), "swapped"));
  CHECK(has(refused(idx(9, {2}, "\x01\xff")), "sample 1 is -1"));
  CHECK(has(refused(idx(8, {2}, "\x01\x05")), "0 to 4"));
  CHECK(has(refused(idx(8, {2}, "\x01\x01")), "class 1"));
  CHECK(refused(idx(8, {2}, "\x01\x02")) == "accepted");
}
