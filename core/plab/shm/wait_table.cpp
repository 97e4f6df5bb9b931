// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/wait_table.h"

#include <pthread.h>

#include <charconv>
#include <cstring>

#include "plab/base/early.h"
#include "plab/base/env.h"
#include "plab/base/log.h"
#include "plab/os/file.h"
#include "plab/os/thread.h"

namespace plab::shm::wait_table {

namespace {

/// This process's view. Never unmapped: threads write into it until the process ends.
struct View {
  os::Mapping mapping;
  WaitTableData* table = nullptr;
};

View& view() {
  static View* const one = new View;  // NOLINT(cppcoreguidelines-owning-memory): see above
  return *one;
}

std::atomic<WaitTableData*> g_table{nullptr};
std::atomic<bool> g_looked_for{false};
std::atomic<bool> g_entered{false};  // this process has its entry

std::uint64_t thread_word() {
  return static_cast<std::uint64_t>(os::current_pid()) << 32U |
         static_cast<std::uint64_t>(os::current_tid());
}

/// A thread's slot; free again when the thread ends.
struct OwnSlot {
  WaitSlot* slot = nullptr;
  ~OwnSlot() {
    if (slot != nullptr) slot->owner.store(0);
  }
};
thread_local OwnSlot t_slot;

void forget_in_child() noexcept {
  t_slot.slot = nullptr;  // its parent's
  g_entered.store(false);
}

bool is_dead(std::uint64_t packed) {
  return packed == 0 || !os::is_alive(os::ProcessIdentity::from_packed(packed));
}

bool take(WaitSlot& slot, std::uint64_t expected) {
  if (!slot.owner.compare_exchange_strong(expected, thread_word())) return false;
  slot.process.store(os::self_identity().packed());
  return true;
}

WaitSlot* own_slot(WaitTableData& table) {
  if (t_slot.slot != nullptr) return t_slot.slot;
  for (auto& slot : table.slots) {
    if (slot.owner.load(std::memory_order_relaxed) == 0 && take(slot, 0)) {
      return t_slot.slot = &slot;
    }
  }
  for (auto& slot : table.slots) {  // those of the dead
    const std::uint64_t owner = slot.owner.load();
    if (is_dead(slot.process.load()) && take(slot, owner)) return t_slot.slot = &slot;
  }
  return nullptr;  // this thread's waits are not seen, so its process is never part of a verdict
}

// Only the first process of a program has any: fork copies one thread.
void list_pool(WaitProcess& entry) {
  std::size_t count = 0;
  for (const std::string& name : os::list_folder("/proc/self/task", "")) {
    std::int32_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid != 0 && tid != os::current_tid() && count < entry.pool.size()) {
      entry.pool[count++].store(tid);
    }
  }
}

// mp::init is the first line of main, so what runs beside it then was made by a library's start.
void enter_process(WaitTableData& table) {
  if (g_entered.exchange(true)) return;
  const std::uint64_t self = os::self_identity().packed();
  for (const bool also_dead : {false, true}) {
    for (auto& entry : table.processes) {
      std::uint64_t who = entry.who.load();
      if (who == self) return;
      if (who != 0 && !(also_dead && is_dead(who))) continue;
      if (!entry.who.compare_exchange_strong(who, self)) continue;
      for (auto& tid : entry.pool) tid.store(0);
      for (auto& word : entry.name) word.store(0);
      list_pool(entry);
      return;
    }
  }
}

WaitTableData* open_table() {
  const auto path = env::get("PLAB_WATCH_TABLE");
  if (!path) return nullptr;
  View& own = view();
  own.mapping = os::Mapping::file(*path, Bytes{sizeof(WaitTableData)}, os::Mapping::File::kOpen);
  auto* const table = std::launder(reinterpret_cast<WaitTableData*>(own.mapping.data()));
  if (table->magic != WaitTableData::kMagic) {
    log::warning("[shm.wait] {} is no table of waits; deadlocks are not explained", *path);
    own.mapping.reset();
    return nullptr;
  }
  own.table = table;
  return table;
}

const Early g_early_wait_table([] {
  (void)view();
  pthread_atfork(nullptr, nullptr, &forget_in_child);
});

}  // namespace

os::Mapping create(const std::filesystem::path& file) {
  os::Mapping mapping =
      os::Mapping::file(file, Bytes{sizeof(WaitTableData)}, os::Mapping::File::kCreate);
  auto* const table = ::new (mapping.data()) WaitTableData;  // the memory is zero already
  table->magic = WaitTableData::kMagic;
  return mapping;
}

WaitTableData* current() noexcept {
  WaitTableData* table = g_table.load(std::memory_order_acquire);
  if (table == nullptr) {
    if (g_looked_for.load(std::memory_order_acquire)) return nullptr;
    static const bool once = [] {
      try {
        g_table.store(open_table(), std::memory_order_release);
      } catch (const std::exception& problem) {
        log::warning("{}; deadlocks are not explained", problem.what());
      }
      g_looked_for.store(true, std::memory_order_release);
      return true;
    }();
    (void)once;
    table = g_table.load();
  }
  if (table != nullptr && !g_entered.load(std::memory_order_relaxed)) {
    try {
      enter_process(*table);
    } catch (const std::exception& problem) {
      log::warning("{}; deadlocks are not explained", problem.what());
    }
  }
  return table;
}

void name_process(const char* name) noexcept {
  WaitTableData* const table = current();
  if (table == nullptr) return;
  const WaitProcess* const found = find(*table, os::self_identity().packed());
  if (found == nullptr) return;
  std::array<std::uint64_t, 4> words{};
  std::memcpy(words.data(), name, std::min(std::strlen(name), sizeof words - 1));
  auto& entry = const_cast<WaitProcess&>(*found);
  for (std::size_t i = 0; i < words.size(); ++i) entry.name[i].store(words[i]);
}

// A sequence lock: one writer, the slot's thread. The words are atomic, so that a reader that comes
// at the wrong moment reads nonsense, sees the number differ, and looks again.
void write(WaitTableData& table, const WaitRecord& record, bool begin) noexcept {
  WaitSlot* const slot = own_slot(table);
  if (slot == nullptr) return;
  std::array<std::uint64_t, WaitSlot::kWords> words;
  std::memcpy(words.data(), &record, sizeof record);
  slot->sequence.fetch_add(1);  // odd
  for (std::size_t i = 0; i < words.size(); ++i) {
    slot->words[i].store(words[i], std::memory_order_relaxed);
  }
  if (begin) slot->waits.store((slot->waits.load(std::memory_order_relaxed) | 1U) + 2);
  slot->sequence.fetch_add(1);
}

void end(WaitTableData& table) noexcept {
  (void)table;
  if (t_slot.slot != nullptr) t_slot.slot->waits.fetch_add(1);  // even: no wait
}

namespace {

bool read_slot(const WaitSlot& slot, Seen& seen) {
  std::array<std::uint64_t, WaitSlot::kWords> words;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::uint64_t before = slot.sequence.load();
    if ((before & 1U) != 0) continue;
    seen.number = slot.waits.load();
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = slot.words[i].load();
    if (slot.sequence.load() != before || slot.waits.load() != seen.number) continue;
    std::memcpy(static_cast<void*>(&seen.record), words.data(), sizeof seen.record);
    return (seen.number & 1U) != 0;
  }
  return false;  // it moves
}

}  // namespace

std::vector<Seen> read(const WaitTableData& table) {
  std::vector<Seen> all;
  for (const auto& slot : table.slots) {
    if (slot.owner.load() == 0) continue;
    Seen seen;
    if (!read_slot(slot, seen)) continue;
    // A slot that was taken over from a dead thread still holds the dead one's record.
    const std::uint64_t owner = slot.owner.load();
    if (static_cast<std::int32_t>(owner & 0xffffffffU) != seen.record.tid) continue;
    if (!is_dead(seen.record.process)) all.push_back(seen);
  }
  return all;
}

const WaitProcess* find(const WaitTableData& table, std::uint64_t who) noexcept {
  for (const auto& entry : table.processes) {
    if (entry.who.load() == who) return &entry;
  }
  return nullptr;
}

std::string name_of(const WaitProcess& process) {
  std::array<char, 33> text{};
  for (std::size_t i = 0; i < process.name.size(); ++i) {
    const std::uint64_t word = process.name[i].load();
    std::memcpy(text.data() + i * 8, &word, 8);
  }
  return text.data();
}

}  // namespace plab::shm::wait_table
