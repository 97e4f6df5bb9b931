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
  //! TODO(1): pid and a counter alone will not do: pids come again. Begin with prefix().
  static std::atomic<int> counter{0};
  static std::random_device random;
  return fmt::format("{}{}-{}-{:08x}", prefix(), ::getpid(), counter++, random());
  //! END
}

}  // namespace

Segment create(plab::Bytes size) {
  Segment segment{new_name(), {}};
  //! TODO(2): make the file (never take one that is there already: O_EXCL; mode 0600), see to it
  //! that all of its memory is there (posix_fallocate: a file that is only made long has none, and
  //! the first touch of a page that can't be had is SIGBUS), map it (os::Mapping::shared), and let
  //! go of the descriptor: a mapping needs none. When there is no room remove the file, and throw
  //! plab::ResourceError. The file has a Header and size.count bytes.
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
  //! END
  segment.header().bytes = size.count;
  enter(segment.header());
  return segment;
}

std::string hand_over(const Segment& segment) {
  //! TODO(3): count it before anybody can have the name.
  ++segment.header().under_way;
  return segment.name;
  //! END
}

Segment open(const std::string& name) {
  //! TODO(4): map the whole file (its length is in fstat), enter, and take it off what is under
  //! way, in this order: at no moment it is nobody's.
  const os::UniqueFd file(::open(path_of(name).c_str(), O_RDWR | O_CLOEXEC));
  if (!file) throw plab::ResourceError(fmt::format("{}: {}", name, std::strerror(errno)));
  struct stat status {};
  ::fstat(file.get(), &status);
  Segment segment{
      name, os::Mapping::shared(file.get(), plab::Bytes{static_cast<std::size_t>(status.st_size)})};
  enter(segment.header());
  --segment.header().under_way;
  return segment;
  //! END
}

void let_go(Segment& segment) {
  //! TODO(5): leave; who was the last one removes the name. Unmap.
  if (leave(segment.header())) ::unlink(path_of(segment.name).c_str());
  segment.memory.reset();
  //! END
}

int sweep() {
  //! TODO(6): look into each segment that there is; remove it when no living process has it and
  //! nothing is under way. (A look is not a holding: do not enter.)
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
  //! END
}

}  // namespace lab05
