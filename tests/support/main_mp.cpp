// SPDX-License-Identifier: Apache-2.0
// main() of the tests whose processes start by spawn and forkserver too.
#include <pthread.h>

#include <catch2/catch_session.hpp>
#include <csignal>

#include "plab/mp/init.h"

namespace {

/// Catch2 handles the signals of a test that crashes; in a forked child of a test they act as by
/// default, so that a child that is ended says nothing and dies of the signal it got.
void default_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGSEGV, SIGFPE, SIGILL, SIGABRT}) {
    std::signal(signal, SIG_DFL);
  }
}

}  // namespace

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  pthread_atfork(nullptr, nullptr, &default_signals);
  return Catch::Session().run(argc, argv);
}
