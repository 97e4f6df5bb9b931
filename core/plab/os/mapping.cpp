// SPDX-License-Identifier: Apache-2.0
#include "plab/os/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>
#include <string>

#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/os/file.h"
#include "plab/os/syscall.h"
#include "plab/os/unique_fd.h"

namespace plab::os {

namespace {

std::byte* map(int fd, Bytes size, int protection, int flags, std::uint64_t offset,
               std::source_location where) {
  if (size.count == 0) throw ContractError("[os.mapping] size 0; a mapping has at least 1", where);
  void* at = ::mmap(nullptr, size.count, protection, flags, fd, static_cast<off_t>(offset));
  if (at == MAP_FAILED) {
    fail(fmt::format("[os.mapping] mmap(size={}, fd={}, offset={})", size.count, fd, offset),
         where);
  }
  return static_cast<std::byte*>(at);
}

}  // namespace

Mapping Mapping::shared(int fd, Bytes size, Access access, std::uint64_t offset,
                        std::source_location where) {
  Mapping mapping;
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  mapping.data_ = map(fd, size, protection, MAP_SHARED | MAP_NORESERVE, offset, where);
  mapping.size_ = size.count;
  return mapping;
}

Mapping Mapping::anonymous(Bytes size, std::source_location where) {
  Mapping mapping;
  mapping.data_ =
      map(-1, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, 0, where);
  mapping.size_ = size.count;
  return mapping;
}

Mapping Mapping::file(const std::filesystem::path& path, Bytes size, File use,
                      std::source_location where) {
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (use == File::kCreate ? O_CREAT | O_EXCL : 0);
  const UniqueFd file(static_cast<int>(retry([&] { return ::open(path.c_str(), flags, 0600); })));
  if (!file) fail(fmt::format("[os.mapping] open({})", path.string()), where);
  if (use == File::kCreate) {
    // Reserved: a full disk is an error here, not a signal later.
    const int code = ::posix_fallocate(file.get(), 0, static_cast<off_t>(size.count));
    if (code != 0) {
      ::unlink(path.c_str());
      fail_code(fmt::format("[os.mapping] {} bytes for {}", size.count, path.string()), code,
                where);
    }
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("[os.mapping] fstat", where);
  if (static_cast<std::size_t>(status.st_size) != size.count) {
    throw ContractError(fmt::format("[os.mapping] {} has {} bytes, not the {} that were expected",
                                    path.string(), status.st_size, size.count),
                        where);
  }
  return shared(file.get(), size, Access::kReadWrite, 0, where);
}

void Mapping::set_dump(Dump dump, std::source_location where) {
  if (::madvise(data_, size_, dump == Dump::kNo ? MADV_DONTDUMP : MADV_DODUMP) != 0) {
    fail(fmt::format("[os.mapping] madvise(size={}, dump)", size_), where);
  }
}

void Mapping::set_forked_child(ForkedChild rule, std::source_location where) {
  if (::madvise(data_, size_, rule == ForkedChild::kLacks ? MADV_DONTFORK : MADV_DOFORK) != 0) {
    fail(fmt::format("[os.mapping] madvise(size={}, fork)", size_), where);
  }
}

bool Mapping::punch(std::size_t offset, std::size_t bytes) noexcept {
  const std::size_t page = page_size();
  if (offset > size_ || bytes > size_ - offset) return false;
  const std::size_t first = (offset + page - 1) / page * page;
  const std::size_t last = (offset + bytes) / page * page;
  if (first >= last) return true;
  const int saved = errno;
  const bool done = retry([&] { return ::madvise(data_ + first, last - first, MADV_REMOVE); }) == 0;
  if (!done) log::warning("[os.mapping] MADV_REMOVE({}): {}", last - first, errno_text(errno));
  errno = saved;
  return done;
}

void Mapping::reset() noexcept {
  if (data_ == nullptr) return;
  if (::munmap(data_, size_) != 0) {
    log::error("[os.mapping] munmap(size={}): {}", size_, errno_text(errno));
  }
  data_ = nullptr;
  size_ = 0;
}

MemoryPlace memory_place(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::istringstream lines(read_file("/proc/self/maps"));
  for (std::string line; std::getline(lines, line);) {  // "7f12-7f34 rw-s 1000 00:01 4711 /memfd:x"
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    std::uint64_t offset = 0;
    char dash = 0;
    std::string flags;
    std::string device;
    std::uint64_t inode = 0;
    std::istringstream fields(line);
    fields >> std::hex >> from >> dash >> to >> flags >> offset >> device >> std::dec >> inode;
    if (!fields || wanted < from || wanted >= to) continue;
    return {flags.size() > 3 && flags[3] == 's', inode, offset + (wanted - from)};
  }
  return {};
}

std::size_t page_size() noexcept {
  static const auto kSize = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return kSize;
}

}  // namespace plab::os
