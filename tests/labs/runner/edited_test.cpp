// SPDX-License-Identifier: Apache-2.0
#include "edited.h"

#include <catch2/catch_test_macros.hpp>

#include "course.h"
#include "plab/os/process.h"

namespace plab::lab {
namespace {

using Files = std::vector<std::string>;

void git(const Context& context, std::vector<std::string> words) {
  std::vector<std::string> argv{"env", "git",         "-C", context.source.string(),
                                "-c",  "user.name=t", "-c", "user.email=t@t"};
  argv.insert(argv.end(), words.begin(), words.end());
  os::Process process = os::spawn_process(
      "/usr/bin/env",
      {.argv = argv, .env = os::environment(), .descriptors = {}, .new_group = os::NewGroup::kNo});
  REQUIRE(process.wait(Deadline::never())->success());
}

void look_at_edits(const test::Course& course) {
  const Lab lab = course.lab("one");
  CHECK(edited_files(course.context, lab).empty());
  const auto root = course.context.source;
  os::write_file(root / "labs/01_one/lab.cpp", "int mine;\n");  // this is for the learner
  CHECK(edited_files(course.context, lab).empty());
  os::write_file(root / "tests/labs/01_one/check.cpp", "int main() {}\n");
  CHECK(edited_files(course.context, lab) == Files{"tests/labs/01_one/check.cpp"});
  os::write_file(root / "core/plab/\u00fc x.h", "int b;\n");
  CHECK(edited_files(course.context, lab) ==
        Files{"core/plab/\u00fc x.h", "tests/labs/01_one/check.cpp"});
}

test::Course& with_core(test::Course& course) {
  make_lab(course.context, "one", 1);
  std::filesystem::create_directories(course.context.source / "core/plab");
  std::filesystem::create_directories(course.context.source / "labs/support");
  os::write_file(course.context.source / "core/plab/\u00fc x.h", "int a;\n");
  os::write_file(course.context.source / "labs/support/check.h", "int a;\n");
  return course;
}

TEST_CASE("in a clone an edited check or core is told from git", "[lab]") {
  test::Course course;
  with_core(course);
  git(course.context, {"init", "-q"});
  git(course.context, {"add", "."});
  git(course.context, {"commit", "-q", "-m", "as it came"});
  look_at_edits(course);
  git(course.context, {"commit", "-q", "-a", "-m", "plab itself goes on"});
  CHECK(edited_files(course.context, course.lab("one")).empty());
}

TEST_CASE("without git an edited check or core is told from how it was at first", "[lab]") {
  test::Course course;
  look_at_edits(with_core(course));
  std::filesystem::remove(course.context.source / "labs/support/check.h");
  CHECK(edited_files(course.context, course.lab("one")).back() == "labs/support/check.h");
}

}  // namespace
}  // namespace plab::lab
