// SPDX-License-Identifier: Apache-2.0
#include "calibration.h"

#include <catch2/catch_test_macros.hpp>

#include "plab/os/file.h"
#include "plab/os/proc.h"
#include "plab/os/temp.h"

namespace plab::lab {
namespace {

TEST_CASE("a slower machine has a longer unit, and a fast one not too short a one",
          "[lab][calibration]") {
  const Calibration fast{.compute_ms = 1, .process_ms = 0.1, .switch_us = 1};
  const Calibration slow{.compute_ms = 200, .process_ms = 20, .switch_us = 100};
  CHECK(fast.unit() == 0.04);
  CHECK(slow.unit() > 0.4);
}

TEST_CASE("this machine is measured once, kept, and measured again when the file is damaged",
          "[lab][calibration]") {
  const os::TempFolder folder;
  const Context context{folder.path(), folder.path() / "build"};
  const Calibration first = calibration_of(context);
  CHECK(first.compute_ms > 0);
  CHECK(first.process_ms > 0);
  CHECK(first.switch_us > 0);
  CHECK(os::child_pids().empty());
  const auto file = context.build / ".lab" / "calibration.json";
  const std::string kept = os::read_file(file);
  CHECK(calibration_of(context).compute_ms == first.compute_ms);
  CHECK(os::read_file(file) == kept);
  os::write_file(file, "{\"compute_ms\": 1");
  CHECK(calibration_of(context).switch_us > 0);
  CHECK(os::read_file(file).find("switch_us") != std::string::npos);
}

}  // namespace
}  // namespace plab::lab
