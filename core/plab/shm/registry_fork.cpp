// SPDX-License-Identifier: Apache-2.0
// The registry and fork(2). A child has all references of its parent; it must be registered as a
// holder of them before the parent can let go of any and reuse the memory. So:
//   before   the forking thread takes the registry's lock: no other thread is half way through
//            anything, and the lock is in a known state in the child. When there are references, it
//            makes a pipe.
//   child    takes a slot of its own in each arena, sets its bits, closes the pipe, unlocks. The
//            arenas are its parent's: it allocates in one of its own.
//   parent   waits for the end of the pipe: it comes when the child has registered or is dead. When
//            fork failed there is no child, and it comes at once.
// Without a descriptor for the pipe, the parent takes the slot and sets the bits in advance, in its
// own name, and the child puts its identity there. If the fork then fails, that slot and the blocks
// in it stay taken until the parent ends or lets them be swept: they leak, nothing worse.
#include <pthread.h>

#include <cstdlib>

#include "plab/base/early.h"
#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/shm/registry.h"

namespace plab::shm {

namespace {
constexpr int kNoRoomForChild = 71;  // EX_OSERR
}

Registry::Registry() {
  ::pthread_atfork(&Registry::before_fork, &Registry::after_fork_in_parent,
                   &Registry::after_fork_in_child);
}

Registry& Registry::instance() {
  static Registry* const registry = new Registry;  // never destroyed: see the header
  return *registry;
}

namespace {
const Early g_early_registry_fork([] { (void)Registry::instance(); });
}

void Registry::ensure_room_for_child() {
  Pending pending;
  const Runner runner{*this, pending};
  const std::scoped_lock lock(lock_);
  (void)depot();  // made after the fork, it would be the child's alone
  for (const auto& [id, use] : arenas_) {
    if (use->refs.empty() || use->arena->has_free_slot()) continue;
    sweep(use, 0, pending);
    if (use->arena->has_free_slot()) continue;
    throw ResourceError(
        fmt::format("[shm.arena] a further process cannot be forked: {} living processes use arena "
                    "{:016x} already; end some first",
                    kMostHolders, id));
  }
}

void Registry::reserve_for_child() noexcept {
  for (const auto& [id, use] : arenas_) {
    if (use->refs.empty()) continue;
    Arena& arena = *use->arena;
    use->reserved_slot = arena.reserve_slot();
    if (use->reserved_slot < 0) continue;  // the child will find none either, and say so
    for (const auto& [block, ref] : use->refs) {
      arena.set_bit_of(static_cast<std::uint32_t>(use->reserved_slot), block);
      arena.change_version(block);
    }
  }
}

void Registry::before_fork() noexcept {
  Registry& self = instance();
  self.lock_.lock();
  if (self.refs_ == nullptr) return;
  try {
    self.fork_pipe_ = os::create_pipe();
  } catch (const Error& problem) {
    log::debug("[shm.registry] fork without a pipe: {}", problem.what());
    self.reserve_for_child();
  }
}

void Registry::after_fork_in_parent() noexcept {
  Registry& self = instance();
  if (self.fork_pipe_) {
    self.fork_pipe_->write.reset();
    std::byte none[1];
    try {
      (void)os::read_some(self.fork_pipe_->read.get(), none, Deadline::never());
    } catch (const Error& problem) {
      log::error("[shm.registry] waiting for a forked child: {}", problem.what());
    }
    self.fork_pipe_.reset();
  }
  for (const auto& [id, use] : self.arenas_) use->reserved_slot = -1;
  self.lock_.unlock();
}

void Registry::register_child() {
  own_.clear();
  for (const auto& [id, use] : arenas_) {
    use->allocator.reset();
    Arena& arena = *use->arena;
    arena.forget_slot();
    if (use->reserved_slot >= 0) {
      arena.use_reserved(use->reserved_slot);
      use->reserved_slot = -1;
      continue;
    }
    if (use->refs.empty()) continue;
    (void)arena.slot();
    for (const auto& [block, ref] : use->refs) {
      arena.set_bit(block);
      arena.change_version(block);
    }
  }
  for (Block::Ref* ref = refs_; ref != nullptr; ref = ref->next) {
    if (ref->segment && !ref->segment->register_holder()) {
      throw ResourceError("[shm.segment] " + ref->segment->name().text() +
                          " has all the holders that it can have");
    }
  }
}

void Registry::after_fork_in_child() noexcept {
  Registry& self = instance();
  try {
    self.register_child();
  } catch (const std::exception& problem) {
    // Going on would mean to read memory that others reuse.
    log::error("{}; this forked child ends", problem.what());
    std::_Exit(kNoRoomForChild);
  }
  self.fork_pipe_.reset();
  self.lock_.unlock();
}

}  // namespace plab::shm
