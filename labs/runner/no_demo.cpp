// SPDX-License-Identifier: Apache-2.0
// Stands in where this build has no demo.
#include <fmt/format.h>

#include "demo.h"

namespace plab::lab {
int run_demo(const Context& /*context*/, const Arguments& /*arguments*/) {
  fmt::print(stderr, "lab demo: not in this build\n");
  return kExitNotRunnable;
}
}  // namespace plab::lab
