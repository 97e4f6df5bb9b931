// SPDX-License-Identifier: Apache-2.0
#include "dev_new.h"

#include <catch2/catch_test_macros.hpp>

#include "complete.h"
#include "course.h"
#include "plab/base/error.h"

namespace plab::lab {
namespace {

TEST_CASE("new labs have all their files, in the order of their numbers", "[lab]") {
  const test::Course course;
  const auto files = make_lab(course.context, "late-one", 7);
  CHECK(files.size() == 10);
  for (const std::string& file : files) {
    INFO(file);
    CHECK(course.text(file).find('@') == std::string::npos);
  }
  make_lab(course.context, "early", 3);
  make_lab(course.context, "last", std::nullopt);
  const auto labs = read_labs(course.context);
  REQUIRE(labs.size() == 3);
  CHECK(labs[0].folder == "03_early");
  CHECK(labs[2].folder == "08_last");
  CHECK(course.text("labs/CMakeLists.txt") ==
        "# the labs\n"
        "plab_lab(03_early MUTANTS in_this_process last_one_lost order_of_arrival)\n"
        "plab_lab(07_late-one MUTANTS in_this_process last_one_lost order_of_arrival)\n"
        "plab_lab(08_last MUTANTS in_this_process last_one_lost order_of_arrival)\n");
  CHECK(course.text("labs/03_early/lab.cpp").find("NotDone{1}") != std::string::npos);
  CHECK(unwritten(course.context, "03_early").front() == "labs/03_early/README.md:5");
}

TEST_CASE("an id or number that can't be is refused, and nothing is written", "[lab]") {
  const test::Course course;
  make_lab(course.context, "one", 1);
  const std::string before = course.text("labs/CMakeLists.txt");
  for (const char* const id : {"", "One", "a_b", "-a", "a-", "a--b", "a b", "../x", "one"}) {
    INFO(id);
    CHECK_THROWS_AS(make_lab(course.context, id, std::nullopt), ContractError);
  }
  for (const int number : {0, 1, 100, -3}) {
    CHECK_THROWS_AS(make_lab(course.context, "two", number), ContractError);
  }
  CHECK(course.text("labs/CMakeLists.txt") == before);
  CHECK(read_labs(course.context).size() == 1);
}

TEST_CASE("the Tab key offers verbs, labs, mistakes and codes", "[lab]") {
  const test::Course course;
  make_lab(course.context, "early", 3);
  const std::vector<std::string> verbs{"check", "break", "explain", "bench"};
  const auto offered = [&](const Arguments& words) {
    return completions(course.context, words, verbs);
  };
  using Words = std::vector<std::string>;
  CHECK(offered({}) == Words{"bench", "break", "check", "explain"});
  CHECK(offered({"b"}) == Words{"bench", "break"});
  CHECK(offered({"check", ""}) == Words{"03", "early"});
  CHECK(offered({"check", "e"}) == Words{"early"});
  CHECK(offered({"break", "03", "last"}) == Words{"last_one_lost"});
  CHECK(offered({"break", "99", ""}).empty());
  CHECK(offered({"explain", "L03-O"}) == Words{"L03-ORDER"});
  CHECK(offered({"bench", ""}).empty());
}

}  // namespace
}  // namespace plab::lab
