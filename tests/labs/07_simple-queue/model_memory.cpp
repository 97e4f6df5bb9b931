// SPDX-License-Identifier: Apache-2.0
// What the operations do to the memory of the machine.
#include <fmt/format.h>

#include <algorithm>

#include "tests/labs/07_simple-queue/model.h"

namespace lab07 {

namespace {

bool acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
const char* name_of_order(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return " (relaxed)";
    case std::memory_order_acquire:
    case std::memory_order_consume:
      return " (acquire)";
    case std::memory_order_release:
      return " (release)";
    case std::memory_order_acq_rel:
      return " (acq_rel)";
    default:
      return "";
  }
}

}  // namespace

std::uint64_t Model::load(const Word& word, std::memory_order order) {
  point();
  Thread& self = me();
  if (order == std::memory_order_seq_cst) {
    let_out_up_to(self, [](const Store& s) { return s.order == std::memory_order_seq_cst; });
  }
  std::uint64_t value = word.value_.load();
  const auto own = std::find_if(self.buffer.rbegin(), self.buffer.rend(),
                                [&](const Store& store) { return store.word == &word; });
  if (own != self.buffer.rend()) {
    value = own->value;
  } else if (acquires(order)) {
    acquire_from(words_[&word]);
  }
  note(fmt::format("{} is {}{}", name_of(&word), value, name_of_order(order)));
  return value;
}

void Model::store(Word& word, std::uint64_t value, std::memory_order order) {
  point();
  Store store{&word, value, order, {}};
  if (releases(order)) release_into(store.clock);
  me().buffer.push_back(store);
  note(fmt::format("{} = {}{}", name_of(&word), value, name_of_order(order)));
}

std::uint64_t Model::exchange(Word& word, std::uint64_t value, std::memory_order order) {
  point();
  Thread& self = me();
  let_out_up_to(self, [&](const Store& s) { return releases(order) || s.word == &word; });
  Clock& clock = words_[&word];
  if (acquires(order)) acquire_from(clock);
  if (releases(order)) release_into(clock);
  const std::uint64_t before = word.value_.exchange(value);
  note(fmt::format("{} = {}, was {}{}", name_of(&word), value, before, name_of_order(order)));
  return before;
}

bool Model::ordered(const Access& access) const {
  return access.time == 0 || access.thread == running_ ||
         threads_[running_]->clock[access.thread] >= access.time;
}

std::size_t Model::slot_index(const Slot& slot) {
  const auto index = static_cast<std::size_t>(&slot - ring_.slots.data());
  if (index >= ring_.capacity) {
    find("L07-WRAP", fmt::format("{} uses slot {}; a ring with capacity {} has slots 0 to {}",
                                 me().name, index, ring_.capacity, ring_.capacity - 1));
  }
  return index;
}

void Model::write(Slot& slot) {
  point();
  const std::size_t index = slot_index(slot);
  SlotUse& use = slots_[index];
  note(fmt::format("writes slot {}", index));
  if (!ordered(use.written)) {
    find("L07-WRITERS", fmt::format("slot {} was written by {} and then by {}, and nothing keeps "
                                    "the two writes from being at the same time",
                                    index, threads_[use.written.thread]->name, me().name));
  }
  if (use.full && unread_ < ring_.capacity) {
    find("L07-WRAP", fmt::format("{} overwrites slot {}, which has not been read, while only {} of "
                                 "{} slots are full",
                                 me().name, index, unread_, ring_.capacity));
  }
  if (use.full) {
    find("L07-OVERWRITTEN", fmt::format("{} overwrites slot {}, which has not been read: all {} "
                                        "slots are full",
                                        me().name, index, ring_.capacity));
  }
  if (!ordered(use.read)) {
    find("L07-MEMORY-ORDER",
         fmt::format("{} writes slot {} after {} has read it, but no release and acquire make it "
                     "so: where memory is weaker, the read may still get the new bytes",
                     me().name, index, threads_[use.read.thread]->name));
  }
  use = {{running_, me().clock[running_]}, {}, true};
  ++unread_;
  progress();
}

void Model::read(const Slot& slot) {
  point();
  const std::size_t index = slot_index(slot);
  SlotUse& use = slots_[index];
  note(fmt::format("reads slot {}", index));
  if (!use.full) {
    find("L07-PUBLISHED-EARLY",
         fmt::format("{} reads slot {} before the message is in it", me().name, index));
  }
  if (!ordered(use.written)) {
    find("L07-MEMORY-ORDER",
         fmt::format("{} reads slot {} after {} has written it, but no release and acquire make it "
                     "so: where memory is weaker, the read gets old bytes",
                     me().name, index, threads_[use.written.thread]->name));
  }
  use.read = {running_, me().clock[running_]};
  use.full = false;
  --unread_;
  progress();
}

/// Takes a permit, when there is one; until then the thread is blocked.
void Model::take(Gate& gate, const void* key) {
  let_out(me());
  while (gate.permits == 0) block(key);
  --gate.permits;
  acquire_from(gate.clock);
  progress();
}

void Model::wait(Semaphore& semaphore) {
  point();
  Gate& gate = gates_[&semaphore];
  note(fmt::format("waits for {}, which has {}", name_of(&semaphore), gate.permits));
  take(gate, &semaphore);
}

void Model::post(Semaphore& semaphore) {
  point();
  let_out(me());
  Gate& gate = gates_[&semaphore];
  ++gate.permits;
  release_into(gate.clock);
  note(fmt::format("posts {}", name_of(&semaphore)));
  unblock(&semaphore);
  progress();
}

void Model::lock(Lock& lock) {
  point();
  const auto [place, fresh] = gates_.try_emplace(&lock);
  if (fresh) place->second.permits = 1;
  take(place->second, &lock);
}

/// No point: it runs in destructors, where nothing may be thrown.
void Model::unlock(Lock& lock) {
  let_out(me());
  Gate& gate = gates_[&lock];
  ++gate.permits;
  release_into(gate.clock);
  unblock(&lock);
}

}  // namespace lab07
