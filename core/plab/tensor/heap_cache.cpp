// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/heap_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "plab/base/error.h"

namespace plab::detail {

namespace {

// Classes are powers of two from 64 bytes to 1 MiB. A class keeps at most 1 MiB or 4 blocks, so an
// idle thread holds 17 MiB at the very most; larger blocks go straight to the system.
constexpr std::size_t kSmallest = 6;
constexpr std::size_t kLargest = 20;
constexpr std::size_t kClasses = kLargest - kSmallest + 1;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeep = false;  // a kept block would hide its use after free
#else
constexpr bool kKeep = true;
#endif

// A free block holds the link to the next one in its first bytes.
struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  std::uint32_t count = 0;
};

std::size_t class_of(std::size_t bytes) noexcept {
  return std::max<std::size_t>(std::bit_width(bytes - 1), kSmallest) - kSmallest;
}

std::uint32_t limit_of(std::size_t index) noexcept {
  const std::size_t blocks = (std::size_t{1} << kLargest) >> (index + kSmallest);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(blocks, 4, 64));
}

class Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();

  std::byte* take(std::size_t index) noexcept {
    FreeList& list = lists_[index];
    if (list.head == nullptr) return nullptr;
    FreeBlock* const block = list.head;
    list.head = block->next;
    --list.count;
    return reinterpret_cast<std::byte*>(block);
  }

  bool keep(std::byte* block, std::size_t index) noexcept {
    FreeList& list = lists_[index];
    if (list.count >= limit_of(index)) return false;
    list.head = new (block) FreeBlock{list.head};
    ++list.count;
    return true;
  }

 private:
  std::array<FreeList, kClasses> lists_{};
};

// Storages that live in other thread-locals or in statics may be freed after the cache of their
// thread is gone; this outlives it.
constinit thread_local bool cache_gone = false;

Cache::~Cache() {
  cache_gone = true;
  for (FreeList& list : lists_) {
    while (list.head != nullptr) std::free(std::exchange(list.head, list.head->next));
  }
}

Cache& cache() noexcept {
  thread_local Cache instance;
  return instance;
}

// What a process can address on the machines of today. Asked for more, glibc says no, but the
// allocator of a sanitizer ends the program.
constexpr std::size_t kMostBytes = std::size_t{1} << 47U;

std::byte* from_system(std::size_t bytes) {
  void* block = nullptr;
  if (bytes <= kMostBytes) {
    block =
        std::aligned_alloc(kHeapAlignment, (bytes + kHeapAlignment - 1) & ~(kHeapAlignment - 1));
  }
  if (block == nullptr) {
    throw ResourceError(fmt::format(
        "[tensor.storage] {} bytes of memory cannot be had; use a smaller tensor or batch", bytes));
  }
  return static_cast<std::byte*>(block);
}

}  // namespace

std::byte* heap_allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t index = class_of(bytes);
  if (!kKeep || index >= kClasses || cache_gone) return from_system(bytes);
  if (std::byte* const block = cache().take(index)) return block;
  return from_system(std::size_t{1} << (index + kSmallest));
}

void heap_free(std::byte* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  const std::size_t index = class_of(bytes);
  if (kKeep && index < kClasses && !cache_gone && cache().keep(block, index)) return;
  std::free(block);
}

}  // namespace plab::detail
