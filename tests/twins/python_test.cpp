// SPDX-License-Identifier: Apache-2.0
#include "support/python.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"

namespace plab {
namespace {

/// PLAB_TEST_PYTHON as it was, at the end of the block.
class NamedPython {
 public:
  explicit NamedPython(const std::string& path) {
    if (const char* const was = std::getenv("PLAB_TEST_PYTHON")) before_ = was;
    ::setenv("PLAB_TEST_PYTHON", path.c_str(), 1);
  }
  ~NamedPython() {
    if (before_.empty()) {
      ::unsetenv("PLAB_TEST_PYTHON");
    } else {
      ::setenv("PLAB_TEST_PYTHON", before_.c_str(), 1);
    }
  }
  NamedPython(const NamedPython&) = delete;
  NamedPython& operator=(const NamedPython&) = delete;

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("a Python in a folder with a space and a quote is asked, not taken for none", "[twin]") {
  const os::TempFolder folder;
  const std::filesystem::path place = folder.path() / "it's a place";
  std::filesystem::create_directory(place);
  const std::filesystem::path python = place / "python3";
  os::write_file(python, "#!/bin/sh\nexec python3 \"$@\"\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const NamedPython named(python.string());
  CHECK(test::python_has("json"));
  CHECK(test::python_has("json, email.mime"));
}

TEST_CASE("a Python that was named for the tests and lacks a module is an error and no skip",
          "[twin]") {
  const NamedPython named("/usr/bin/python3");
  CHECK_THROWS_AS(test::python_has("json, no_such_module.inside"), Error);
}

}  // namespace plab
