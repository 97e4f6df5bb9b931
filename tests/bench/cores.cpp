// SPDX-License-Identifier: Apache-2.0
#include "bench/cores.h"

namespace plab::bench {

namespace {

// What the process may use was read before anything was bound.
const cpu_set_t& allowed() {
  static const cpu_set_t set = [] {
    cpu_set_t now;
    CPU_ZERO(&now);
    sched_getaffinity(0, sizeof now, &now);
    return now;
  }();
  return set;
}

}  // namespace

void run_on_core(int n) {
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed()) || n-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

CorePin::CorePin(int n) : before_(allowed()) { run_on_core(n); }

CorePin::~CorePin() { sched_setaffinity(0, sizeof before_, &before_); }

}  // namespace plab::bench
