// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/wait.h"

#include <algorithm>
#include <cstring>

#include "plab/base/timeline.h"
#include "plab/os/mapping.h"
#include "plab/os/thread.h"
#include "plab/shm/registry.h"
#include "plab/shm/wait_table.h"

namespace plab::shm {

namespace detail {
thread_local constinit std::source_location t_call_site{};
}  // namespace detail

namespace {

// The outermost wait of this thread. Scopes within it add nothing but their looks.
struct OuterWait {
  bool active = false;
  WaitRecord record;
};
thread_local OuterWait t_wait;

template <std::size_t kSize>
void copy_text(std::array<char, kSize>& into, const char* text) {
  const std::size_t length = std::min(std::strlen(text), kSize - 1);
  std::memcpy(into.data(), text + (std::strlen(text) - length), length);  // the end says more
  into[length] = '\0';
}

// "int pkg::work(int, const std::string&) [with ...]" -> "pkg::work"
void copy_function(std::array<char, 64>& into, const char* text) {
  std::string_view name(text);
  name = name.substr(0, name.find('('));
  if (const auto space = name.rfind(' '); space != std::string_view::npos) {
    name.remove_prefix(space + 1);
  }
  constexpr std::string_view kUnnamed = "{anonymous}::";
  if (name.starts_with(kUnnamed)) name.remove_prefix(kUnnamed.size());
  const std::size_t length = std::min(name.size(), into.size() - 1);
  std::memcpy(into.data(), name.data(), length);
  into[length] = '\0';
}

void set_enders(WaitRecord& record, const Place& place) {
  record.enders_kind = Enders::kUnknown;
  if (place.more_may_come || place.holders.size() > kMostEnders) return;
  record.enders_kind = Enders::kProcesses;
  record.enders_count = static_cast<std::uint8_t>(place.holders.size());
  std::ranges::copy(place.holders, record.enders.begin());
}

// What is in memory of this process alone can be changed by this process alone.
void set_private(WaitRecord& record, const void* object) {
  record.object[0] = static_cast<std::uint64_t>(record.pid);
  record.object[1] = reinterpret_cast<std::uintptr_t>(object);
  record.enders_kind = Enders::kProcesses;
  record.enders_count = 1;
  record.enders[0] = record.pid;
}

void set_lock(WaitRecord& record, bool is_private, pid_t owner_pid, pid_t owner_tid) {
  record.owner_pid = owner_pid;
  record.owner_tid = owner_tid;
  if (owner_pid == 0) {
    record.enders_kind = Enders::kUnknown;  // between two holders
  } else {
    const bool copied = is_private && owner_pid != record.pid;
    record.enders_kind = copied ? Enders::kCopied : Enders::kThread;
  }
}

void find_enders(OuterWait& wait, const WaitSite& site, pid_t owner_pid, pid_t owner_tid) {
  WaitRecord& record = wait.record;
  switch (site.kind) {
    case WaitKind::kJoin:
      if (site.pids.size() > kMostEnders) return;
      record.enders_kind = Enders::kProcesses;
      record.enders_count = static_cast<std::uint8_t>(site.pids.size());
      std::ranges::copy(site.pids, record.enders.begin());
      return;
    case WaitKind::kJoinThread:
    case WaitKind::kIdle:
      return set_private(record, site.object);
    case WaitKind::kRecv:
    case WaitKind::kSend:
      record.enders_kind = Enders::kJob;
      return;
    default:
      break;
  }
  const os::MemoryPlace memory = os::memory_place(site.object);
  record.object[0] = memory.inode;
  record.object[1] = memory.offset;
  if (!memory.shared) set_private(record, site.object);
  // Of a lock its owner is all that counts. (And the registry, which is asked below, waits for
  // locks while it holds its own.)
  if (site.kind == WaitKind::kMutex) return set_lock(record, !memory.shared, owner_pid, owner_tid);
  if (const auto place = Registry::instance().place_of(site.object)) set_enders(record, *place);
}

WaitRecord new_record(const WaitSite& site, Deadline deadline) {
  WaitRecord record;
  record.process = os::self_identity().packed();
  record.pid = os::current_pid();
  record.tid = os::current_tid();
  record.kind = site.kind;
  record.has_deadline = deadline.is_never() ? 0 : 1;
  record.since_ns = monotonic_ns();
  const std::source_location& where =
      detail::t_call_site.line() != 0 ? detail::t_call_site : site.where;
  record.line = static_cast<std::int32_t>(where.line());
  copy_text(record.file, where.file_name());
  copy_function(record.function, where.function_name());
  return record;
}

}  // namespace

const char* name_of(WaitKind kind) noexcept {
  static constexpr std::array kNames{"lock",        "condition", "semaphore", "barrier", "event",
                                     "queue.get",   "queue.put", "recv",      "send",    "join",
                                     "queue flush", "work",      "wait"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "wait";
}

bool WaitScope::watched() noexcept { return wait_table::current() != nullptr; }

WaitScope::WaitScope(const WaitSite& site, Deadline deadline) noexcept
    : site_(site),
      since_ns_(site.kind == WaitKind::kMutex && timeline::enabled() ? monotonic_ns() : 0) {
  WaitTableData* const table = wait_table::current();
  if (table == nullptr || t_wait.active) return;
  recorded_ = true;
  t_wait.active = true;
  t_wait.record = new_record(site, deadline);
  wait_table::write(*table, t_wait.record, true);
}

void WaitScope::looked(pid_t owner_pid, pid_t owner_tid) noexcept {
  WaitTableData* const table = wait_table::current();
  if (table == nullptr || !t_wait.active || looked_at_ns_ == 0) return;
  // A wait within a wait: what the inner one is for is what counts now.
  t_wait.record.kind = site_.kind;
  t_wait.record.looked_ns = looked_at_ns_;
  try {
    find_enders(t_wait, site_, owner_pid, owner_tid);
  } catch (const std::exception&) {
    t_wait.record.enders_kind = Enders::kUnknown;  // /proc could not be read
  }
  wait_table::write(*table, t_wait.record, false);
}

WaitScope::~WaitScope() {
  if (recorded_) {
    t_wait.active = false;
    if (WaitTableData* const table = wait_table::current()) wait_table::end(*table);
  }
  if (since_ns_ == 0 || !timeline::enabled()) return;
  timeline::record({.kind = timeline::Kind::kLockWait,
                    .label = site_.where.function_name(),
                    .id = reinterpret_cast<std::uintptr_t>(site_.object),
                    .start_ns = since_ns_,
                    .duration_ns = monotonic_ns() - since_ns_});
}

}  // namespace plab::shm
