// SPDX-License-Identifier: Apache-2.0
#include "plab/os/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include "plab/base/log.h"
#include "plab/os/syscall.h"

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

std::size_t page_size() noexcept {
  static const auto kSize = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return kSize;
}

}  // namespace plab::os
