// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/init.h"

#include <exception>
#include <filesystem>

#include "plab/base/env.h"
#include "plab/base/log.h"
#include "plab/mp/context.h"
#include "plab/mp/exec.h"
#include "plab/mp/process_state.h"
#include "plab/mp/watch.h"
#include "plab/os/stack_request.h"
#include "plab/os/timeline_store.h"
#include "plab/shm/segment.h"
#include "plab/shm/wait_table.h"

namespace plab::mp {

void init(int argc, char** argv) {
  ProcessState& state = process_state();
  if (state.init_called) return;
  state.init_called = true;
  state.program = argc > 0 ? argv[0] : "plab";
  watch_if_asked();
  (void)shm::wait_table::current();
  if (const auto table = env::get("PLAB_WATCH_TABLE")) {
    os::answer_stack_requests(std::filesystem::path(*table).parent_path());
  }
  (void)os::start_timeline_from_environment();
  obey_if_child(argc, argv);
  try {
    (void)shm::sweep_dead_segments();
  } catch (const std::exception& problem) {
    log::warning("[mp.init] what dead processes left could not be removed: {}", problem.what());
  }
}

}  // namespace plab::mp
