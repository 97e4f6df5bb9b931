// SPDX-License-Identifier: Apache-2.0
#include "doctor.h"

#include <fmt/format.h>

#include "plab/base/env.h"

namespace plab::lab {

int run_doctor(const Context& /*context*/, const Arguments& arguments) {
  CLI::App app{"What this machine offers, what is wrong with it, and what mends it.", "lab doctor"};
  bool json = false;
  app.add_flag("--json", json, "one JSON document on standard output");
  if (const auto code = parse_options(app, arguments)) return *code;
  return kExitPassed;
}

int run_env(const Context& /*context*/, const Arguments& arguments) {
  CLI::App app{"The environment variables that plab reads.", "lab env"};
  if (const auto code = parse_options(app, arguments)) return *code;
  for (const env::Variable& variable : env::table()) {
    const auto value = env::get(variable.name);
    fmt::print("{:<22} {:<16} {}\n", variable.name,
               value ? *value : fmt::format("({})", variable.fallback), variable.meaning);
  }
  return kExitPassed;
}

}  // namespace plab::lab
