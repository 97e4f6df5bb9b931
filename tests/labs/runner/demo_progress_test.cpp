// SPDX-License-Identifier: Apache-2.0
#include "demo_progress.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

using plab::lab::frame_of;
using plab::lab::Glyphs;
using plab::parallel::WorkerProgress;

TEST_CASE("a frame has a bar per process, as full as its work", "[lab][demo]") {
  const std::vector<WorkerProgress> workers{{.steps = 50, .steps_wanted = 100, .loss = 0.25F},
                                            {.steps = 0, .steps_wanted = 100},
                                            {.steps = 7, .steps_wanted = 7},
                                            {.steps = 0, .steps_wanted = 0}};
  const auto frame = frame_of("4 processes", workers, 2.0, Glyphs::kAscii);
  REQUIRE(frame.size() == 5);
  CHECK(frame[0] == "4 processes  2.0 s  28 steps/s");
  CHECK(frame[1].find("############............  50 %") != std::string::npos);
  CHECK(frame[1].find("0.2500") != std::string::npos);
  CHECK(frame[2].find("........................   0 %") != std::string::npos);
  CHECK(frame[3].find("######################## 100 %") != std::string::npos);
  CHECK(frame[4].find("100 %") != std::string::npos);
  for (const auto& line : frame) CHECK(line.size() <= 80);
}

TEST_CASE("more processes than fit are counted", "[lab][demo]") {
  const auto frame = frame_of("many", std::vector<WorkerProgress>(40), 0, Glyphs::kBlocks);
  CHECK(frame.size() == 18);
  CHECK(frame.back() == "  and 24 more processes");
}
