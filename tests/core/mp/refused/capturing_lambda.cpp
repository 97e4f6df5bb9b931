// SPDX-License-Identifier: Apache-2.0
// expect: Give a free function or a lambda without captures
#include <tuple>

#include "plab/mp/spawn.h"

void start(int factor) {
#ifdef MENDED
  plab::mp::spawn([](int rank, int by) { return rank * by; }, std::tuple(factor), 2);
#else
  plab::mp::spawn([factor](int rank) { return rank * factor; }, std::tuple(), 2);
#endif
}
