// SPDX-License-Identifier: Apache-2.0
// expect: (spawn() puts the rank, an int, before them.)
#include <string>
#include <tuple>

#include "plab/mp/spawn.h"

#ifdef MENDED
void work(int rank, std::string name);
#else
void work(std::string name);  // the rank is forgotten
#endif

void start() { plab::mp::spawn(work, std::tuple(std::string("a")), 2); }
