// SPDX-License-Identifier: Apache-2.0
// Stands in where this build has no bench.
#include <fmt/format.h>

#include "bench.h"

namespace plab::lab {
int run_bench(const Context& /*context*/, const Arguments& /*arguments*/) {
  fmt::print(stderr, "lab bench: not in this build\n");
  return kExitNotRunnable;
}
}  // namespace plab::lab
