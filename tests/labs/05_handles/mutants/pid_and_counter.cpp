// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 05: names of pid and counter
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
  static std::atomic<int> counter{0};
  return fmt::format("{}{}-{}", prefix(), ::getpid(), counter++);
}

}  // namespace

Segment create(plab::Bytes size) {
  Segment segment{new_name(), {}};
  const std::size_t bytes = sizeof(Header) + size.count;
  const std::string path = path_of(segment.name);
  const os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) throw plab::ResourceError(fmt::format("{}: {}", path, std::strerror(errno)));
  const int problem = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (problem != 0) {
    ::unlink(path.c_str());
    throw plab::ResourceError(
        fmt::format("{} bytes in /dev/shm: {}", bytes, std::strerror(problem)));
  }
  segment.memory = os::Mapping::shared(file.get(), plab::Bytes{bytes});
  segment.header().bytes = size.count;
  enter(segment.header());
  return segment;
}

std::string hand_over(const Segment& segment) {
  ++segment.header().under_way;
  return segment.name;
}

Segment open(const std::string& name) {
  const os::UniqueFd file(::open(path_of(name).c_str(), O_RDWR | O_CLOEXEC));
  if (!file) throw plab::ResourceError(fmt::format("{}: {}", name, std::strerror(errno)));
  struct stat status {};
  ::fstat(file.get(), &status);
  Segment segment{
      name, os::Mapping::shared(file.get(), plab::Bytes{static_cast<std::size_t>(status.st_size)})};
  enter(segment.header());
  --segment.header().under_way;
  return segment;
}

void let_go(Segment& segment) {
  if (leave(segment.header())) ::unlink(path_of(segment.name).c_str());
  segment.memory.reset();
}

int sweep() {
  int removed = 0;
  for (const std::string& name : all_names()) {
    const os::UniqueFd file(::open(path_of(name).c_str(), O_RDWR | O_CLOEXEC));
    if (!file) continue;  // its last holder has just removed it
    const os::Mapping look = os::Mapping::shared(file.get(), plab::Bytes{sizeof(Header)});
    const auto& header = *reinterpret_cast<const Header*>(look.data());
    if (is_held(header) || header.under_way > 0) continue;
    if (::unlink(path_of(name).c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace lab05
