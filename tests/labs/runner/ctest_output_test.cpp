// SPDX-License-Identifier: Apache-2.0
#include "ctest_output.h"

#include <catch2/catch_test_macros.hpp>

namespace plab::lab {
namespace {

using Line = CTestOutput::Line;

TEST_CASE("passed, failed, skipped and crashed tests are told apart", "[lab]") {
  CTestOutput output;
  REQUIRE(output.take("Test project somewhere") == Line::kNoise);
  REQUIRE(output.take("      Start  1: a name, with commas") == Line::kNoise);
  REQUIRE(output.take("  1/430 Test  #1: a name, with commas ....   Passed    0.05 sec") ==
          Line::kNoise);
  REQUIRE(output.last() == "a name, with commas");
  REQUIRE(output.take("2/430 Test #2: Passed ones are counted ...***Failed   12.05 sec") ==
          Line::kResult);
  REQUIRE(output.take("3/430 Test #3: c ....***Skipped   0.00 sec") == Line::kResult);
  REQUIRE(output.take("4/430 Test #4: d ....***Exception: SegFault  0.10 sec") == Line::kResult);
  REQUIRE(output.take("5/430 Test #5: e ....***Timeout 300.03 sec") == Line::kResult);
  REQUIRE(output.take("6/430 Test #6: f_NOT_BUILT ....***Not Run   0.00 sec") == Line::kResult);
  REQUIRE(output.take("7/430 Test #7: g ....***Not Run (Disabled)   0.00 sec") == Line::kResult);
  REQUIRE(output.take("8/430 Test #8: h ....***Failed  Required regular expression not found. "
                      "Regex=[x] 0.10 sec") == Line::kResult);
  REQUIRE(output.take("tests/x.cpp:7: FAILED:") == Line::kOther);
  REQUIRE(output.passed() == 1);
  REQUIRE(output.failed(false) == 5);
  REQUIRE(output.skipped() == 2);
}

TEST_CASE("tests that CTest announced and never reported have failed", "[lab]") {
  CTestOutput output;
  output.take("1/3 Test #1: a ...   Passed    0.05 sec");
  REQUIRE(output.failed(false) == 0);
  REQUIRE(output.failed(true) == 2);
}

}  // namespace
}  // namespace plab::lab
