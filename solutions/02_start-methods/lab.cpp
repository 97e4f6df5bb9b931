// SPDX-License-Identifier: Apache-2.0
// Lab 02: start methods. The only file that you edit.
#include "02_start-methods/lab.hpp"

#include <fcntl.h>

#include "plab/mp/init.h"
#include "support/not_done.h"

namespace mp = plab::mp;
namespace os = plab::os;
using plab::Deadline;

namespace lab02 {

void start_up(int argc, char** argv) {
  //! TODO(1): spawn starts this very program again, main and all. mp::init turns such a process
  //! into the worker that it is to be, and does not return there. So what comes before it happens
  //! in every worker again.
  mp::init(argc, argv);
  load();
  //! END
}

Sight predict(mp::StartMethod method) {
  //! TODO(2): say for each method what a child finds: a copy of the parent, a fresh program, or a
  //! copy of a helper that was started early.
  switch (method) {
    case mp::StartMethod::kFork:
      return {.global = true,
              .thread = false,
              .descriptor = true,
              .lock_held = true,
              .random = true,
              .environment = true};
    case mp::StartMethod::kSpawn:
      return {.environment = true};
    case mp::StartMethod::kForkServer:
      return {};
  }
  return {};
  //! END
}

Sight measure(mp::StartMethod method) {
  //! TODO(3): start look by that method (ProcessOptions::start_method), take what it found, join.
  mp::SimpleQueue<Sight> found;
  mp::Process process(mp::ProcessOptions{.start_method = method}, look, found);
  process.start();
  const Sight sight = found.get(Deadline::never()).value();
  process.join(Deadline::never());
  return sight;
  //! END
}

mp::Process start_scaling(mp::StartMethod method, double factor, const mp::SimpleQueue<double>& in,
                          const mp::SimpleQueue<double>& out) {
  //! TODO(4): what a closure has captured cannot travel into a fresh program: a function and its
  //! arguments can.
  mp::Process process(mp::ProcessOptions{.start_method = method}, scale_all, factor, in, out);
  process.start();
  return process;
  //! END
}

os::UniqueFd open_log(const std::filesystem::path& path) {
  //! TODO(5): open(2) it so that it is closed when another program begins.
  return os::UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  //! END
}

}  // namespace lab02
