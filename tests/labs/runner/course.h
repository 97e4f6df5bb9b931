#pragma once
// SPDX-License-Identifier: Apache-2.0
// A small course of its own, in a folder that goes with it: for tests that write into it.

#include <filesystem>
#include <string>

#include "dev_new.h"
#include "labs.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"

namespace plab::test {

/// An empty course with the real template, as `lab dev new` fills it.
class Course {
 public:
  Course() {
    namespace fs = std::filesystem;
    fs::create_directories(context.source / "labs");
    fs::copy(fs::path(PLAB_SOURCE) / "labs" / "template", context.source / "labs" / "template",
             fs::copy_options::recursive);
    os::write_file(context.source / "labs" / "CMakeLists.txt", "# the labs\n");
    fs::create_directories(context.build);
  }
  [[nodiscard]] std::string text(const std::filesystem::path& file) const {
    return os::read_file(context.source / file);
  }
  [[nodiscard]] lab::Lab lab(std::string_view name) const {
    return lab::find_lab(lab::read_labs(context), name).value();
  }

 private:
  os::TempFolder folder_;

 public:
  lab::Context context{folder_.path() / "source", folder_.path() / "build"};
};

}  // namespace plab::test
