// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/wait_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "plab/os/file.h"
#include "plab/os/process.h"

namespace plab::shm {

namespace {

std::set<std::int32_t> threads_of(std::int32_t pid) {
  std::set<std::int32_t> threads;
  for (const std::string& name : os::list_folder(fmt::format("/proc/{}/task", pid), "")) {
    std::int32_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid != 0) threads.insert(tid);
  }
  return threads;
}

bool is_lock_or_queue(const WaitRecord& record) {
  return record.kind != WaitKind::kJoin && record.kind != WaitKind::kRecv &&
         record.kind != WaitKind::kSend;
}

}  // namespace

WaitGraph::WaitGraph(const WaitTableData& table)
    : waits_(wait_table::read(table)), now_ns_(monotonic_ns()) {
  for (const auto& entry : table.processes) {
    const std::uint64_t who = entry.who.load();
    if (who == 0) continue;
    const auto identity = os::ProcessIdentity::from_packed(who);
    if (!os::is_alive(identity)) continue;
    Process& found = processes_[identity.pid];
    found.alive = found.known = true;
    found.name = wait_table::name_of(entry);
    found.threads = threads_of(identity.pid);
    for (const auto& tid : entry.pool) found.threads.erase(tid.load());
  }
  for (std::size_t i = 0; i < waits_.size(); ++i) {
    const WaitRecord& record = waits_[i].record;
    by_thread_[{record.pid, record.tid}] = i;
    for (std::size_t e = 0; e < record.enders_count; ++e) (void)process(record.enders[e]);
  }
  find_stuck();
}

WaitGraph::Process& WaitGraph::process(std::int32_t pid) {
  const auto [at, is_new] = processes_.try_emplace(pid);
  if (is_new) at->second.alive = os::is_alive({pid, os::start_time(pid).value_or(0)});
  return at->second;
}

// --- what is stuck ------------------------------------------------------------------------------

bool WaitGraph::in_set(std::int32_t pid, std::int32_t tid) const {
  const auto found = by_thread_.find({pid, tid});
  return found != by_thread_.end() && set_.contains(found->second);
}

/// Whether every thread of a living process is in the set, so that the process does nothing more.
bool WaitGraph::is_blocked(std::int32_t pid) const {
  const Process& its = processes_.at(pid);
  return its.known && !its.threads.empty() &&
         std::ranges::all_of(its.threads, [&](std::int32_t tid) { return in_set(pid, tid); });
}

/// Whether somebody outside the set could end this wait.
bool WaitGraph::may_end(std::size_t index) const {
  const WaitRecord& record = waits_[index].record;
  const auto moves = [&](std::int32_t pid) { return processes_.at(pid).alive && !is_blocked(pid); };
  switch (record.enders_kind) {
    case Enders::kCopied:
      return false;
    case Enders::kThread:
      return !in_set(record.owner_pid, record.owner_tid);
    case Enders::kProcesses: {
      const auto enders = std::span(record.enders).first(record.enders_count);
      // A join ends by the death of a process: it is over then, and its thread about to wake up.
      const auto dead = [&](std::int32_t pid) { return !processes_.at(pid).alive; };
      if (record.kind == WaitKind::kJoin && std::ranges::any_of(enders, dead)) return true;
      return std::ranges::any_of(enders, moves);
    }
    case Enders::kJob:
      return std::ranges::any_of(processes_, [&](const auto& one) { return moves(one.first); });
    case Enders::kUnknown:
      break;
  }
  return true;
}

// Starts with all waits that do not end by themselves, and takes out those that somebody outside
// could end, until none is left of them.
void WaitGraph::find_stuck() {
  for (std::size_t i = 0; i < waits_.size(); ++i) {
    const WaitRecord& record = waits_[i].record;
    if (record.has_deadline == 0 && record.looked_ns != 0) set_.insert(i);
  }
  for (bool again = true; again;) {
    again = false;
    for (auto at = set_.begin(); at != set_.end();) {
      const bool out = may_end(*at);
      again = again || out;
      at = out ? set_.erase(at) : std::next(at);
    }
  }
  stuck_.assign(set_.begin(), set_.end());
}

std::int64_t WaitGraph::right_since(std::size_t index) const noexcept {
  const WaitRecord& record = waits_[index].record;
  // Who is joined, and that it lives, is read by each look of the watcher.
  return record.kind == WaitKind::kJoin ? now_ns_ : record.looked_ns;
}

// --- the knot -----------------------------------------------------------------------------------

/// The stuck waits whose threads could end this one.
WaitGraph::Indices WaitGraph::edges(std::size_t index) const {
  const WaitRecord& record = waits_[index].record;
  Indices to;
  const auto add_process = [&](std::int32_t pid) {
    for (const std::size_t other : stuck_) {
      if (waits_[other].record.pid == pid && other != index) to.push_back(other);
    }
  };
  if (record.enders_kind == Enders::kThread) {
    const auto found = by_thread_.find({record.owner_pid, record.owner_tid});
    if (found != by_thread_.end()) to.push_back(found->second);
  } else if (record.enders_kind == Enders::kProcesses) {
    for (std::size_t e = 0; e < record.enders_count; ++e) add_process(record.enders[e]);
  } else if (record.enders_kind == Enders::kJob) {
    for (const auto& [pid, its] : processes_) add_process(pid);
  }
  return to;
}

WaitGraph::Indices WaitGraph::reachable(std::size_t from) const {
  std::set<std::size_t> seen{from};
  Indices todo{from};
  while (!todo.empty()) {
    const std::size_t at = todo.back();
    todo.pop_back();
    for (const std::size_t next : edges(at)) {
      if (seen.insert(next).second) todo.push_back(next);
    }
  }
  return {seen.begin(), seen.end()};
}

/// The smallest set of stuck waits from which no other can be reached. What merely waits for the
/// knot is not in it.
WaitGraph::Indices WaitGraph::knot() const {
  Indices best;
  for (const std::size_t index : stuck_) {
    Indices set = reachable(index);
    if (best.empty() || set.size() < best.size()) best = std::move(set);
  }
  return best;
}

/// Who joins, or waits for work or a thread of its own, is in the knot because it does not do
/// something else; the others are what it is about.
bool WaitGraph::is_bystander(std::size_t index) const {
  const WaitKind kind = waits_[index].record.kind;
  return kind == WaitKind::kJoin || kind == WaitKind::kJoinThread || kind == WaitKind::kIdle;
}

std::string WaitGraph::code_of(const Indices& knot) const {
  const WaitRecord& first = waits_[knot[0]].record;
  if (knot.size() == 1) {
    if (first.enders_kind == Enders::kCopied) return "orphan-fork";
    if (first.kind == WaitKind::kQueuePut) return "orphan-no-reader";
    if (first.kind == WaitKind::kQueueGet) return "orphan-no-writer";
    return "orphan-no-peer";
  }
  std::set<WaitKind> kinds;
  std::set<std::int32_t> pids;
  for (const std::size_t index : knot) {
    if (is_bystander(index)) continue;
    kinds.insert(waits_[index].record.kind);
    pids.insert(waits_[index].record.pid);
  }
  const bool joins = std::ranges::any_of(
      knot, [&](std::size_t i) { return waits_[i].record.kind == WaitKind::kJoin; });
  const auto only = [&](WaitKind kind) { return kinds == std::set{kind}; };
  if (only(WaitKind::kMutex)) return "cycle-locks";
  if (joins && pids.size() < 2) {
    return only(WaitKind::kQueuePut) ? "cycle-join-full-queue" : "cycle-join";
  }
  if (only(WaitKind::kQueuePut)) return "cycle-full-queues";
  if (only(WaitKind::kQueueGet)) return "cycle-empty-queues";
  if (only(WaitKind::kRecv) || only(WaitKind::kSend)) return "cycle-connections";
  return joins ? "cycle-join" : "cycle-mixed";
}

// --- in words -----------------------------------------------------------------------------------

/// "lock A": the same letter for the same object.
std::string WaitGraph::object_of(std::size_t index) const {
  const WaitRecord& record = waits_[index].record;
  if (record.kind == WaitKind::kJoin) {
    const auto pids = std::span(record.enders).first(record.enders_count);
    return fmt::format("process{} {}", pids.size() == 1 ? "" : "es", fmt::join(pids, ", "));
  }
  if (!is_lock_or_queue(record)) return "a connection";
  std::set<std::pair<std::uint64_t, std::uint64_t>> objects;
  for (const auto& other : waits_) {
    if (is_lock_or_queue(other.record)) {
      objects.insert({other.record.object[0], other.record.object[1]});
    }
  }
  const auto at = objects.find({record.object[0], record.object[1]});
  const auto number = std::distance(objects.begin(), at);
  const bool is_queue = record.kind == WaitKind::kQueueGet || record.kind == WaitKind::kQueuePut;
  const char* const what = is_queue ? "queue" : name_of(record.kind);
  return number < 26 ? fmt::format("{} {}", what, static_cast<char>('A' + number))
                     : fmt::format("{} {}", what, number);
}

std::string WaitGraph::enders_of(std::size_t index) const {
  const WaitRecord& record = waits_[index].record;
  switch (record.enders_kind) {
    case Enders::kCopied:
      return fmt::format(
          "its owner is thread {} of process {}: fork copied the lock, not the thread",
          record.owner_tid, record.owner_pid);
    case Enders::kThread:
      return fmt::format("held by thread {} of process {}", record.owner_tid, record.owner_pid);
    case Enders::kJob:
      return "any process of this job may be the other side";
    case Enders::kUnknown:
      return "who could end it is not known";
    case Enders::kProcesses:
      break;
  }
  if (record.kind == WaitKind::kJoin) return "ends when one of them ends";
  std::string living;
  for (std::size_t e = 0; e < record.enders_count; ++e) {
    const auto found = processes_.find(record.enders[e]);
    if (found == processes_.end() || !found->second.alive) continue;
    living += fmt::format("{}{}", living.empty() ? "" : ", ", record.enders[e]);
  }
  return living.empty() ? "no living process has it" : "in the hands of: " + living;
}

Wait WaitGraph::describe(std::size_t index) const {
  const WaitRecord& record = waits_[index].record;
  const auto its = processes_.find(record.pid);
  return {.pid = record.pid,
          .tid = record.tid,
          .process = its == processes_.end() ? "" : its->second.name,
          .kind = record.kind,
          .object = object_of(index),
          .enders = enders_of(index),
          .for_ns = now_ns_ - record.since_ns,
          .file = record.file.data(),
          .line = record.line,
          .function = record.function.data(),
          .waits_for = {}};
}

std::vector<Wait> WaitGraph::describe_all() const {
  std::vector<Wait> all;
  for (std::size_t i = 0; i < waits_.size(); ++i) all.push_back(describe(i));
  return all;
}

std::optional<Verdict> WaitGraph::verdict() const {
  if (stuck_.empty()) return std::nullopt;
  Indices centre = knot();
  std::ranges::stable_partition(centre, [&](std::size_t i) { return !is_bystander(i); });
  Verdict verdict;
  verdict.kind = centre.size() == 1 ? Verdict::Kind::kOrphan : Verdict::Kind::kCycle;
  verdict.code = code_of(centre);
  verdict.knot = centre.size();
  Indices all = centre;
  for (const std::size_t index : stuck_) {
    if (std::ranges::find(centre, index) == centre.end()) all.push_back(index);
  }
  for (const std::size_t index : all) {
    verdict.waits.push_back(describe(index));
    for (const std::size_t next : edges(index)) {
      const auto at = std::ranges::find(all, next);
      verdict.waits.back().waits_for.push_back(static_cast<std::size_t>(at - all.begin()));
    }
  }
  return verdict;
}

}  // namespace plab::shm
