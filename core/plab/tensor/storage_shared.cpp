// SPDX-License-Identifier: Apache-2.0
// Storages in shared memory, and the table by which one block is one storage in a process.
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "plab/base/error.h"
#include "plab/tensor/storage_impl.h"

namespace plab {

namespace {

// Storages of this process by the block that holds them. References are weak: a storage lives as
// long as its tensors. Entries of dead ones go when there are twice as many as were alive at the
// last sweep.
template <typename Impl>
class Known {
 public:
  static Known& instance() {
    static auto* const known = new Known;  // NOLINT(cppcoreguidelines-owning-memory): see above
    return *known;
  }
  /// A child must not inherit a lock that another thread of its parent held.
  static void keep_over_fork() {
    (void)instance();
    pthread_atfork([] { instance().lock_.lock(); }, [] { instance().lock_.unlock(); },
                   [] { instance().lock_.unlock(); });
  }

  std::shared_ptr<Impl> find(const shm::Handle& handle) {
    const std::lock_guard guard(lock_);
    const auto it = storages_.find(key(handle));
    return it == storages_.end() ? nullptr : it->second.lock();
  }

  /// Returns the storage that is known for the block, which another thread may have entered first.
  std::shared_ptr<Impl> enter(const shm::Handle& handle, const std::shared_ptr<Impl>& impl) {
    const std::lock_guard guard(lock_);
    if (storages_.size() >= limit_) sweep();
    auto& entry = storages_[key(handle)];
    if (auto known = entry.lock()) return known;
    entry = impl;
    return impl;
  }

 private:
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t>;
  static Key key(const shm::Handle& h) { return {h.arena, h.offset, h.block, h.generation}; }

  void sweep() {
    std::erase_if(storages_, [](const auto& entry) { return entry.second.expired(); });
    limit_ = std::max<std::size_t>(kFirstLimit, 2 * storages_.size());
  }

  static constexpr std::size_t kFirstLimit = 128;
  std::mutex lock_;  // protects what follows; nothing is called while it is held
  std::map<Key, std::weak_ptr<Impl>> storages_;
  std::size_t limit_ = kFirstLimit;
};

MemoryKind kind_of(const shm::Block& block) {
  return block && block.is_named() ? MemoryKind::kNamed : MemoryKind::kShared;
}

}  // namespace

const Early Storage::Impl::table([] { Known<Impl>::keep_over_fork(); });

Storage Storage::shared(std::size_t bytes) {
  Storage storage = heap(0);
  storage.impl_->bytes = bytes;
  storage.share_memory();
  return storage;
}

Storage Storage::adopt(shm::Block block) {
  const shm::Handle handle = block.handle();
  if (block) {
    if (auto known = Known<Impl>::instance().find(handle)) return Storage(std::move(known));
  }
  auto impl = std::make_shared<Impl>();
  impl->data = block.data();
  impl->bytes = block.bytes();
  impl->kind = kind_of(block);
  const bool has_memory = static_cast<bool>(block);
  impl->block = std::make_shared<const shm::Block>(std::move(block));
  if (!has_memory) return Storage(std::move(impl));  // empty ones are all different
  return Storage(Known<Impl>::instance().enter(handle, impl));
}

void Storage::share_memory() {
  if (!impl_) throw ContractError("[tensor.storage] share_memory() of no storage");
  if (is_shared()) return;
  const bool copies = impl_->data != nullptr;
  auto block = std::make_shared<const shm::Block>(shm::Block::allocate_shared(
      Bytes{impl_->bytes}, copies ? shm::Fill::kNone : shm::Fill::kZero));
  if (copies) {
    std::memcpy(block->data(), impl_->data, impl_->bytes);
    detail::heap_free(impl_->data, impl_->bytes);
  }
  impl_->data = block->data();
  impl_->kind = kind_of(*block);
  impl_->block = std::move(block);
  if (impl_->data != nullptr) Known<Impl>::instance().enter(impl_->block->handle(), impl_);
}

}  // namespace plab
