// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include "core/mp/watched.h"

TEST_CASE("1,000 healthy programs get no verdict", "[mp][watch]") {
  CHECK(plab::test::run_healthy(1000, 2000) == "");
}
