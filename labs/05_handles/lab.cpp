// SPDX-License-Identifier: Apache-2.0
// Lab 05: names, descriptors and what is left behind. The only file that you edit.
#include "05_handles/lab.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>

#include "plab/base/error.h"
#include "plab/os/unique_fd.h"
#include "support/not_done.h"

namespace os = plab::os;

namespace lab05 {

namespace {

/// A name that no other segment has, nor had one of a process that was killed long ago.
std::string new_name() {
  // TODO(1): pid and a counter alone will not do: pids come again. Begin with prefix().
  throw plab::lab::NotDone{1};
}

}  // namespace

Segment create(plab::Bytes size) {
  Segment segment{new_name(), {}};
  // TODO(2): make the file (never take one that is there already: O_EXCL; mode 0600), see to it
  // that all of its memory is there (posix_fallocate: a file that is only made long has none, and
  // the first touch of a page that can't be had is SIGBUS), map it (os::Mapping::shared), and let
  // go of the descriptor: a mapping needs none. When there is no room remove the file, and throw
  // plab::ResourceError. The file has a Header and size.count bytes.
  throw plab::lab::NotDone{2};
  segment.header().bytes = size.count;
  enter(segment.header());
  return segment;
}

std::string hand_over(const Segment& segment) {
  // TODO(3): count it before anybody can have the name.
  throw plab::lab::NotDone{3};
}

Segment open(const std::string& name) {
  // TODO(4): map the whole file (its length is in fstat), enter, and take it off what is under
  // way, in this order: at no moment it is nobody's.
  throw plab::lab::NotDone{4};
}

void let_go(Segment& segment) {
  // TODO(5): leave; who was the last one removes the name. Unmap.
  throw plab::lab::NotDone{5};
}

int sweep() {
  // TODO(6): look into each segment that there is; remove it when no living process has it and
  // nothing is under way. (A look is not a holding: do not enter.)
  throw plab::lab::NotDone{6};
}

}  // namespace lab05
