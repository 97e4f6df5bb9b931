// SPDX-License-Identifier: Apache-2.0
// Each test may run alone, so its children may be the first to use shared memory. They belong to
// one job with their parent only if the parent made the depot before it forked, as mp does.
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include "plab/shm/depot.h"

namespace {

class OneJob : public Catch::EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;
  void testRunStarting(const Catch::TestRunInfo& /*info*/) override {
    (void)plab::shm::Depot::descriptors();
  }
};

CATCH_REGISTER_LISTENER(OneJob)

}  // namespace
