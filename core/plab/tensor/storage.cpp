// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/storage.h"

#include "plab/base/error.h"
#include "plab/tensor/storage_impl.h"

namespace plab {

Storage Storage::heap(std::size_t bytes) {
  auto impl = std::make_shared<Impl>();
  impl->data = detail::heap_allocate(bytes);
  impl->bytes = bytes;
  return Storage(std::move(impl));
}

std::byte* Storage::data() const noexcept { return impl_ ? impl_->data : nullptr; }
std::size_t Storage::bytes() const noexcept { return impl_ ? impl_->bytes : 0; }
// Relaxed: the number says that there was a change, and orders nothing.
std::uint64_t Storage::version() const noexcept {
  return impl_ ? impl_->version.load(std::memory_order_relaxed) : 0;
}
void Storage::bump_version() const noexcept {
  if (impl_) impl_->version.fetch_add(1, std::memory_order_relaxed);
}
MemoryKind Storage::kind() const noexcept { return impl_ ? impl_->kind : MemoryKind::kHeap; }

const shm::Block& Storage::block() const {
  if (!is_shared()) {
    throw ContractError(
        "[tensor.storage] block() of a storage on the heap; call share_memory() first");
  }
  return *impl_->block;
}

}  // namespace plab
