// SPDX-License-Identifier: Apache-2.0
// Four things that go wrong with handles of shared memory, each without harm: descriptors that run
// out, a file that is longer than there is memory for, a name that is gone before it is opened, and
// one that a killed process leaves.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/os/proc.h"

using namespace plab;

namespace {

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void in_a_process(const char* name, void (*work)()) {
  mp::Process process(mp::ProcessOptions{.name = name}, work);
  process.start();
  process.join(Deadline::never());
}

void descriptors_run_out() {
  const rlimit few{64, 64};
  ::setrlimit(RLIMIT_NOFILE, &few);
  int alive = 0;
  while (::memfd_create("tensor", MFD_CLOEXEC) >= 0) ++alive;
  say(fmt::format("1. a descriptor for each tensor, limit 64: after {} tensors {}", alive,
                  std::strerror(errno)));
}

std::string demo_name() { return fmt::format("/plab-demo05-{}", ::getppid()); }

void longer_than_memory() {
  const auto space = os::dev_shm_space();
  const off_t bytes = static_cast<off_t>(space ? space->size : 0) + (off_t{1} << 24);
  const int file = ::shm_open(demo_name().c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ::shm_unlink(demo_name().c_str());
  const bool made_long = ::ftruncate(file, bytes) == 0;
  const int reserved = ::posix_fallocate(file, 0, bytes);
  say(fmt::format("2. {} MiB in a /dev/shm of {} MiB: ftruncate says {}, posix_fallocate says {}",
                  bytes >> 20U, (space ? space->size : 0) >> 20U, made_long ? "ok" : "no",
                  std::strerror(reserved)));
}

void gone_before_it_is_opened() {
  const int file = ::shm_open(demo_name().c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ::close(file);
  ::shm_unlink(demo_name().c_str());  // the sender lets go at its end
  const int late = ::shm_open(demo_name().c_str(), O_RDWR, 0600);
  say(fmt::format("3. the sender has ended, the receiver opens the name: {}",
                  late < 0 ? std::strerror(errno) : "ok"));
}

void killed_with_a_name() {
  ::close(::shm_open(demo_name().c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  static_cast<void>(std::raise(SIGKILL));
}

}  // namespace

int main(int argc, char** argv) {
  mp::init(argc, argv);
  in_a_process("descriptors", descriptors_run_out);
  in_a_process("room", longer_than_memory);
  in_a_process("early exit", gone_before_it_is_opened);
  in_a_process("killed", killed_with_a_name);
  const std::string left = fmt::format("/plab-demo05-{}", ::getpid());
  const bool is_left = ::shm_unlink(left.c_str()) == 0;  // and is tidied up here
  say(fmt::format("4. a process was killed with a name: /dev/shm{} {}", left,
                  is_left ? "was left behind" : "is gone"));
}
