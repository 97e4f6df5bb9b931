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
  // TODO(1): spawn starts this very program again, main and all. mp::init turns such a process
  // into the worker that it is to be, and does not return there. So what comes before it happens
  // in every worker again.
  throw plab::lab::NotDone{1};
}

Sight predict(mp::StartMethod method) {
  // TODO(2): say for each method what a child finds: a copy of the parent, a fresh program, or a
  // copy of a helper that was started early.
  throw plab::lab::NotDone{2};
}

Sight measure(mp::StartMethod method) {
  // TODO(3): start look by that method (ProcessOptions::start_method), take what it found, join.
  throw plab::lab::NotDone{3};
}

mp::Process start_scaling(mp::StartMethod method, double factor, const mp::SimpleQueue<double>& in,
                          const mp::SimpleQueue<double>& out) {
  // TODO(4): what a closure has captured cannot travel into a fresh program: a function and its
  // arguments can.
  throw plab::lab::NotDone{4};
}

os::UniqueFd open_log(const std::filesystem::path& path) {
  // TODO(5): open(2) it so that it is closed when another program begins.
  throw plab::lab::NotDone{5};
}

}  // namespace lab02
