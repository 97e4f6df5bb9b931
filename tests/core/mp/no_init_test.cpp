// SPDX-License-Identifier: Apache-2.0
// A program whose main does not call init().
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "plab/mp/process.h"
#include "plab/os/process.h"
#include "support/leak_audit.h"

using namespace plab;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("without init, spawn and forkserver say at once which line is missing", "[mp][init]") {
  const auto method = GENERATE(mp::StartMethod::kSpawn, mp::StartMethod::kForkServer);
  const test::LeakAudit audit;
  {
    mp::Process process({.start_method = method}, [] {});
    CHECK_THROWS_WITH(process.start(), ContainsSubstring("plab::mp::init(argc, argv);") &&
                                           ContainsSubstring(std::string(mp::name_of(method))));
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("fork needs no init", "[mp][init]") {
  const test::LeakAudit audit;
  {
    mp::Process process({.start_method = mp::StartMethod::kFork}, [] { mp::exit_process(5); });
    process.start();
    CHECK(process.join(Deadline::never()));
    CHECK(process.exitcode() == 5);
  }
  CHECK(audit.leaks() == "");
}
