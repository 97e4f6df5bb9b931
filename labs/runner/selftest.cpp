// SPDX-License-Identifier: Apache-2.0
#include "selftest.h"

#include <fmt/format.h>

namespace plab::lab {

int run_selftest(const Context& /*context*/, const Arguments& arguments) {
  CLI::App app{"Runs all tests of the project.", "lab selftest"};
  bool quick = false;
  app.add_flag("--quick", quick, "leave out the slow tests (under two minutes on two cores)");
  if (const auto code = parse_options(app, arguments)) return *code;
  return kExitToolDefect;
}

}  // namespace plab::lab
