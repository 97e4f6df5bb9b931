#pragma once
// SPDX-License-Identifier: Apache-2.0
// What is behind a Storage. Internal to the layer.

#include <atomic>

#include "plab/base/early.h"
#include "plab/tensor/heap_cache.h"
#include "plab/tensor/storage.h"

namespace plab {

struct Storage::Impl {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::kHeap;
  std::atomic<std::uint64_t> version{0};
  std::shared_ptr<const shm::Block>
      block;  // null for heap bytes; apart, so that heap ones stay small

  static const Early table;  // of the storages that are known by their blocks

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (kind == MemoryKind::kHeap) detail::heap_free(data, bytes);
  }
};

}  // namespace plab
