// SPDX-License-Identifier: Apache-2.0
#include "plab/base/deadline.h"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using plab::Deadline;

TEST_CASE("a deadline of zero or less has passed", "[base]") {
  CHECK(Deadline::after(0ns).expired());
  CHECK(Deadline::after(-1s).expired());
  CHECK(Deadline::passed().poll_timeout_ms() == 0);
}

TEST_CASE("never does not expire and polls without limit", "[base]") {
  CHECK_FALSE(Deadline::never().expired());
  CHECK(Deadline::never().poll_timeout_ms() == -1);
  CHECK(Deadline::after(std::chrono::nanoseconds::max()).is_never());
}

TEST_CASE("the time left is rounded up for poll, so that no wait ends early", "[base]") {
  const auto deadline = Deadline::after(1h + 1ns);
  CHECK(deadline.remaining() > 59min);
  CHECK(deadline.poll_timeout_ms() > 59 * 60 * 1000);
  CHECK(deadline.min(Deadline::never()).ns() == deadline.ns());
}
