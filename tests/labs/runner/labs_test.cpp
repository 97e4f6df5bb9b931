// SPDX-License-Identifier: Apache-2.0
#include "labs.h"

#include <catch2/catch_test_macros.hpp>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"

namespace plab::lab {
namespace {

TEST_CASE("a skeleton has the text of each hole and throws in its place", "[lab]") {
  const std::string cut = cut_skeleton(
      "int f() {\n  int a = 1;\n  //! TODO(3): say\n  //! more\n  return a;\n  //! END\n}\n", "x");
  CHECK(
      cut ==
      "int f() {\n  int a = 1;\n  // TODO(3): say\n  // more\n  throw plab::lab::NotDone{3};\n}\n");
  CHECK(cut_skeleton("int a;\n", "x") == "int a;\n");
}

TEST_CASE("marks without their partner are refused with the line", "[lab]") {
  CHECK_THROWS_AS(cut_skeleton("//! TODO(1): a\n", "x"), DataError);
  CHECK_THROWS_AS(cut_skeleton("//! END\n", "x"), DataError);
  CHECK_THROWS_AS(cut_skeleton("//! TODO(1): a\n//! TODO(2): b\n//! END\n", "x"), DataError);
}

TEST_CASE("a lab is found by number and by id, and a bad lab.toml is refused by name", "[lab]") {
  const os::TempFolder folder;
  const Context context{folder.path(), folder.path()};
  const auto lab = folder.path() / "labs" / "07_simple-queue";
  std::filesystem::create_directories(lab);
  const std::string good =
      "id = \"simple-queue\"\ntitle = \"t\"\nkind = \"practice\"\npytorch = \"p\"\nminutes = 3\n";
  os::write_file(lab / "lab.toml", good);
  const auto labs = read_labs(context);
  REQUIRE(labs.size() == 1);
  for (const char* const name : {"7", "07", "simple-queue", "07_simple-queue"}) {
    CHECK(find_lab(labs, name).has_value());
  }
  for (const char* const name : {"8", "", "queue"}) CHECK_FALSE(find_lab(labs, name).has_value());
  for (const char* const bad : {"id = \"other\"\n", "id = ", ""}) {
    os::write_file(lab / "lab.toml", bad);
    CHECK_THROWS_AS(read_labs(context), DataError);
  }
}

}  // namespace
}  // namespace plab::lab
