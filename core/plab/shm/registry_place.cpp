// SPDX-License-Identifier: Apache-2.0
// Who could touch a place in shared memory: for the watcher of waits.
#include "plab/shm/registry.h"

namespace plab::shm {

namespace {

void add_holders(const Arena& arena, std::uint32_t block, Place& place) {
  const BlockEntry& entry = arena.entry(block);
  place.more_may_come = BlockWord::unpack(entry.word.load()).in_flight != 0;
  for (std::size_t slot = 0; slot < kMostHolders; ++slot) {
    if ((entry.holders[slot / 64].load() >> (slot % 64) & 1U) == 0) continue;
    const std::uint64_t who = arena.header().holders[slot].load();
    if (who == 0 || (who & Arena::kSweeping) != 0) continue;
    place.holders.push_back(os::ProcessIdentity::from_packed(who).pid);
  }
}

}  // namespace

std::optional<Place> Registry::place_of(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  const std::scoped_lock lock(lock_);
  for (const auto& [id, use] : arenas_) {
    const std::byte* const begin = use->arena->at(0);
    if (at < begin || at >= begin + use->arena->bytes()) continue;
    Place place;
    place.more_may_come = true;  // a block that this process does not know
    for (const auto& [block, ref] : use->refs) {
      if (at < ref->data || at >= ref->data + ref->bytes) continue;
      add_holders(*use->arena, block, place);
      break;
    }
    return place;
  }
  return std::nullopt;
}

}  // namespace plab::shm
