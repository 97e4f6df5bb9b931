// SPDX-License-Identifier: Apache-2.0
// expect: plab: an argument cannot go to another process
#include <tuple>

#include "plab/mp/spawn.h"

#ifdef MENDED
using Given = int;
#else
using Given = int*;
#endif

void work(int rank, Given given);

void start(Given given) { plab::mp::spawn(work, std::tuple(given), 2); }
