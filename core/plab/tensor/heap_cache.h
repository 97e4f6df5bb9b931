#pragma once
// SPDX-License-Identifier: Apache-2.0
// Memory of heap tensors. A training step makes and drops some twenty tensors of the same few
// sizes, and aligned allocation in glibc goes past its thread cache; so freed blocks are kept, per
// thread, and given out again.

#include <cstddef>

namespace plab::detail {

/// Every heap block starts at a multiple of this: one cache line, one AVX-512 register.
inline constexpr std::size_t kHeapAlignment = 64;

/// At least `bytes` bytes, not initialised; null for 0 bytes.
/// @throws ResourceError when the memory cannot be had
/// @threads each thread has a cache of its own; a block may be freed by another thread
[[nodiscard]] std::byte* heap_allocate(std::size_t bytes);

/// Gives a block back. `bytes` is what was asked for.
/// @fork a child keeps the cache of the thread that forked
void heap_free(std::byte* block, std::size_t bytes) noexcept;

}  // namespace plab::detail
