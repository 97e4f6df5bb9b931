// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 02: a closure is sent, which only fork can
#include "02_start-methods/lab.hpp"

#include <fcntl.h>

#include "plab/mp/init.h"
#include "support/not_done.h"

namespace mp = plab::mp;
namespace os = plab::os;
using plab::Deadline;

namespace lab02 {

void start_up(int argc, char** argv) {
  mp::init(argc, argv);
  load();
}

Sight predict(mp::StartMethod method) {
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
}

Sight measure(mp::StartMethod method) {
  mp::SimpleQueue<Sight> found;
  mp::Process process(mp::ProcessOptions{.start_method = method}, look, found);
  process.start();
  const Sight sight = found.get(Deadline::never()).value();
  process.join(Deadline::never());
  return sight;
}

mp::Process start_scaling(mp::StartMethod method, double factor, const mp::SimpleQueue<double>& in,
                          const mp::SimpleQueue<double>& out) {
  mp::Process process(mp::kForkOnly, mp::ProcessOptions{.start_method = method},
                      [=] { scale_all(factor, in, out); });
  process.start();
  return process;
}

os::UniqueFd open_log(const std::filesystem::path& path) {
  return os::UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
}

}  // namespace lab02
