// SPDX-License-Identifier: Apache-2.0
#include "plab/data/csv.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/data/gzip.h"
#include "plab/base/error.h"
#include "plab/data/source.h"
#include "plab/os/temp.h"

namespace data = plab::data;
using plab::DataError;

namespace {

data::TensorDataset parse(std::string_view text, const data::CsvOptions& options = {}) {
  return data::parse_csv(text, "f.csv", options);
}

// The error for a text, as (line, column, message).
struct Refused {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string message;
  [[nodiscard]] bool at(std::size_t l, std::size_t c, std::string_view words) const {
    INFO(message);
    CHECK(line == l);
    CHECK(column == c);
    return message.find(words) != std::string::npos && message.starts_with("f.csv");
  }
};

Refused refuse(std::string_view text, const data::CsvOptions& options = {}) {
  try {
    static_cast<void>(parse(text, options));
  } catch (const DataError& error) {
    return {error.line(), error.column(), error.what()};
  }
  return {99, 99, "it was accepted"};
}

}  // namespace

TEST_CASE("a CSV becomes features and labels, the label last", "[data][csv]") {
  const auto set = parse("1,-2.5,0\n3e1,+4,2\n.5,0,1\n");
  CHECK(set.features.sizes() == plab::Shape{3, 2});
  CHECK(set.features.dtype() == plab::DType::kF32);
  CHECK(set.features.is_contiguous());
  CHECK(set.features.to_vector<float>() == std::vector<float>{1, -2.5F, 30, 4, .5F, 0});
  CHECK(set.labels.dtype() == plab::DType::kI64);
  CHECK(set.labels.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 2, 1});
  CHECK(set.classes == 3);
}

TEST_CASE("CRLF, quotes, blanks, a byte order mark and blank lines at the end are fine",
          "[data][csv]") {
  const auto set = parse("\xEF\xBB\xBF\"1\", 2 ,0\r\n 3,\"4\" ,1\r\n\r\n\n");
  CHECK(set.features.to_vector<float>() == std::vector<float>{1, 2, 3, 4});
  CHECK(set.labels.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1});
  CHECK(parse("1,0\n2,1").size() == 2);
  CHECK(parse("1,0\r\n2,1\r").size() == 2);
}

TEST_CASE("a first line without a number is the header, and the label can be named",
          "[data][csv]") {
  const std::string text = "a,\"the \"\"b\"\"\nclass\",c\n1,0,3\n2,1,4\n";
  CHECK(parse(text, {.label = "1"}).labels.to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{0, 1});
  const auto named = parse(text, {.label = "the \"b\"\nclass"});
  CHECK(named.labels.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1});
  CHECK(named.features.to_vector<float>() == std::vector<float>{1, 3, 2, 4});
  CHECK(parse("1,0,3\n2,1,4\n", {.label = "-2"}).classes == 2);
  CHECK(parse("0,1,y\n5,6,0\n7,8,1\n", {.label = "y"}).size() == 2);
  CHECK(refuse(text, {.label = "z"}).at(1, 0, "\"a\""));
  CHECK(refuse("1,0\n2,1\n", {.label = "2"}).at(1, 0, "0 to 1"));
  CHECK(refuse("1,0\n2,1\n", {.label = "-3"}).at(1, 0, "no column -3"));
}

TEST_CASE("bad data names its line and column and what is valid", "[data][csv]") {
  CHECK(refuse("").at(0, 0, "empty"));
  CHECK(refuse("\n\r\n\n").at(0, 0, "empty"));
  CHECK(refuse("a,b\n").at(0, 0, "no sample"));
  CHECK(refuse("1,2,0\n1,2\n").at(2, 2, "2 fields, not the 3"));
  CHECK(refuse("1,0\n1,2,0\n").at(2, 3, "more fields than the 2"));
  CHECK(refuse("1,2,0\n1,abc,1\n").at(2, 2, "\"abc\" is no number"));
  CHECK(refuse("1,x,0\n").at(1, 2, "header"));
  CHECK(refuse("1,2,0\n1,,1\n").at(2, 2, "empty"));
  CHECK(refuse("1,2,0\nnan,1,1\n").at(2, 1, "finite"));
  CHECK(refuse("1,2,0\n1,-inf,1\n").at(2, 2, "finite"));
  CHECK(refuse("1,2,0\n1,1e39,1\n").at(2, 2, "float32"));
  CHECK(refuse("1,2,0\n1,1e999,1\n").at(2, 2, "float32"));
  CHECK(refuse("1,0\n1,1.5\n").at(2, 2, "whole numbers from 0 to 9999"));
  CHECK(refuse("1,0\n1,-1\n").at(2, 2, "\"-1\""));
  CHECK(refuse("1,0\n1,10000\n").at(2, 2, "9999"));
  CHECK(refuse("1,0\n2,3\n", {.most_classes = 3}).at(2, 2, "0 to 2"));
  CHECK(refuse("1,0\n2,0\n3,0\n").at(0, 0, "all 3 samples are of class 0"));
  CHECK(refuse("1\n2\n").at(1, 1, "one column"));
  CHECK(refuse("1,0\n\n2,1\n").at(2, 0, "blank"));
  CHECK(refuse("1,0\n\"2,1\n").at(2, 1, "never closed"));
  CHECK(refuse("1,0\n\"2\"x,1\n").at(2, 1, "closing quote"));
  CHECK(refuse("1;2;0\n1;2;1\n").line == 1);
  CHECK(refuse("1,2,0\n1,0x10,1\n").at(2, 2, "no number"));
  CHECK(refuse("1,2,0\n1,\x1b[31m,1\n").at(2, 2, "\\x1b[31m"));
}

TEST_CASE("files are read, packed or not, and what cannot be read says why", "[data][csv]") {
  const plab::os::TempFolder folder;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    return folder.path() / name;
  };
  const std::string text = "1,0\n2,1\n3,4\n";
  CHECK(data::read_csv(write("a.csv", text)).size() == 3);
  CHECK(data::read_csv(write("b.csv", test::gzip(text))).size() == 3);
  CHECK(data::read_csv(write("c.csv", test::gzip("1,0\n") + test::gzip("2,1\n"))).size() == 2);
  const auto message = [](const std::filesystem::path& path, const data::CsvOptions& options = {}) {
    try {
      static_cast<void>(data::read_csv(path, options));
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto has = [](const std::string& all, std::string_view part) {
    INFO(all);
    return all.find(part) != std::string::npos;
  };
  CHECK(has(message(folder.path()), "folder"));
  CHECK(has(message(folder.path() / "none.csv"), "no such file"));
  CHECK(has(message("/dev/zero"), "device"));
  CHECK(has(message(write("d", test::gzip(text).substr(0, 15))), "cut off"));
  CHECK(has(message(write("e", test::gzip(text) + "xx")), "follow"));
  std::string bad = test::gzip(text);
  bad[bad.size() - 6] = static_cast<char>(bad[bad.size() - 6] + 1);
  CHECK(has(message(write("f", bad)), "damaged"));
  CHECK(has(message(write("g", text), {.most_bytes = 5}), "longer than 5 bytes"));
  if (geteuid() != 0) {
    std::filesystem::permissions(write("h", text), std::filesystem::perms::none);
    CHECK(has(message(folder.path() / "h"), "EACCES"));
  }
}

TEST_CASE("a decompression bomb ends at the limit", "[data][csv]") {
  const std::string bomb = test::gzip(std::string(64U << 20U, '0'));
  CHECK(bomb.size() < 100'000);
  CHECK_THROWS_AS(data::unpack_gzip(bomb, "bomb", 1U << 20U), DataError);
}
