// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/code_address.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <cstdlib>

#include "plab/base/error.h"

using namespace plab;
using Catch::Matchers::ContainsSubstring;

namespace {
int seven() { return 7; }
}  // namespace

TEST_CASE("a function is found again by its module and offset", "[mp][code_address]") {
  const auto address = reinterpret_cast<std::uintptr_t>(&seven);
  const mp::CodeAddress found = mp::find_code_address(address);
  CHECK(found.offset != 0);
  CHECK(mp::resolve(found) == address);
  CHECK(reinterpret_cast<int (*)()>(mp::resolve(found))() == 7);
  CHECK(mp::resolve(mp::find_code_address(0)) == 0);
}

TEST_CASE("a function of a shared object has that object's build id", "[mp][code_address]") {
  const auto address = reinterpret_cast<std::uintptr_t>(&std::abort);
  const mp::CodeAddress found = mp::find_code_address(address);
  CHECK(found.build_id != mp::find_code_address(reinterpret_cast<std::uintptr_t>(&seven)).build_id);
  CHECK(mp::resolve(found) == address);
}

TEST_CASE("data, an unknown build and an offset outside are refused", "[mp][code_address]") {
  int local = 0;
  CHECK_THROWS_AS(mp::find_code_address(reinterpret_cast<std::uintptr_t>(&local)), ContractError);
  mp::CodeAddress address = mp::find_code_address(reinterpret_cast<std::uintptr_t>(&seven));
  address.offset = std::uint64_t{1} << 40U;
  CHECK_THROWS_WITH(mp::resolve(address), ContainsSubstring("outside the code"));
  address.build_id[3] ^= 1U;
  CHECK_THROWS_WITH(mp::resolve(address), ContainsSubstring("was rebuilt"));
}
