// SPDX-License-Identifier: Apache-2.0
#include "plab/os/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plab/os/syscall.h"

namespace plab::os {

UniqueFd create_memfd(const std::string& name, Bytes size, std::source_location where) {
  // Past the limit ftruncate would not only fail but also send SIGXFSZ, which ends the process.
  if (size.count > file_size_limit()) {
    throw ResourceError(
        fmt::format("[os.memfd] {} bytes are over this process's file size limit of {}; raise it "
                    "(ulimit -f) or ask for less",
                    size.count, file_size_limit()),
        where);
  }
  UniqueFd fd(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!fd) fail(fmt::format("[os.memfd] memfd_create({})", name), where);
  if (retry([&] { return ::ftruncate(fd.get(), static_cast<off_t>(size.count)); }) != 0) {
    fail(fmt::format("[os.memfd] ftruncate({}, {})", name, size.count), where);
  }
  return fd;
}

FileUse file_use(int fd, std::source_location where) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail(fmt::format("[os.memfd] fstat(fd={})", fd), where);
  return {static_cast<std::uint64_t>(info.st_size),
          static_cast<std::uint64_t>(info.st_blocks) * 512};
}

int reserve_file(int fd, std::uint64_t size) noexcept {
  int code = EINTR;
  // posix_fallocate gives the error as its result
  while (code == EINTR) code = ::posix_fallocate(fd, 0, static_cast<off_t>(size));
  return code;
}

std::uint64_t file_size_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

}  // namespace plab::os
