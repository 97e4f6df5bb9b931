#pragma once
// SPDX-License-Identifier: Apache-2.0
// Keeps the two sides of a measurement on cores of their own.

#include <sched.h>

namespace plab::bench {

/// Binds this thread to the n-th core that it may use, if there are that many.
void run_on_core(int n);

/// Binds this thread while it lives.
class CorePin {
 public:
  explicit CorePin(int n);
  ~CorePin();
  CorePin(const CorePin&) = delete;
  CorePin& operator=(const CorePin&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace plab::bench
