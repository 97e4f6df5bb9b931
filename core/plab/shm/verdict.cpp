// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace plab::shm {

namespace {

constexpr std::size_t kMostLines = 12;
constexpr std::size_t kColumns = 100;

struct Rule {
  std::string_view code;
  std::string_view rule;
};
constexpr std::array kRules{
    Rule{"cycle-locks", "take locks in one order everywhere, or give all back before you wait"},
    Rule{"cycle-join-full-queue",
         "take everything out of a queue before you join the processes that fill it"},
    Rule{"cycle-join", "do not join a process that waits for something that only you can do"},
    Rule{"cycle-full-queues",
         "a full queue blocks its writer: of two that fill each other's, one has to read first"},
    Rule{"cycle-empty-queues", "of two that wait for each other's message, one has to send first"},
    Rule{"cycle-connections", "of two that wait for each other's message, one has to send first"},
    Rule{"cycle-mixed", "who waits must not hold what the others need to go on"},
    Rule{"orphan-fork",
         "fork copies memory and one thread: a lock that another thread held stays locked"},
    Rule{"orphan-no-reader", "a full queue waits for a reader, and no living process can read it"},
    Rule{"orphan-no-writer", "an empty queue waits for a writer, and no other thread can write it"},
    Rule{"orphan-no-peer", "what is waited for has to come from somebody else, who must live"},
};

std::string cut(std::string line) {
  if (line.size() > kColumns) {
    line.resize(kColumns - 3);
    line += "...";
  }
  line += '\n';
  return line;
}

/// The last parts of a path, as many as it takes to find it: three, and "tests" or "core" before.
std::string short_path(const std::string& path) {
  std::size_t from = path.size();
  for (int part = 0; part < 3 && from != std::string::npos && from != 0; ++part) {
    from = path.rfind('/', from - 1);
  }
  if (from == std::string::npos || from == 0) return path;
  for (const std::string_view root : {"/tests", "/core"}) {
    if (std::string_view(path).substr(0, from).ends_with(root)) from -= root.size();
  }
  return path.substr(from + 1);
}

}  // namespace

std::string who_waits(const Wait& wait) {
  const std::string name = wait.process.empty() ? "" : wait.process + ", ";
  return wait.tid == wait.pid ? fmt::format("{}process {}", name, wait.pid)
                              : fmt::format("{}process {} thread {}", name, wait.pid, wait.tid);
}

std::string what_for(const Wait& wait) {
  switch (wait.kind) {
    case WaitKind::kJoin:
      return "joins " + wait.object;
    case WaitKind::kQueueGet:
    case WaitKind::kQueuePut:
    case WaitKind::kRecv:
    case WaitKind::kSend:
      return fmt::format("waits in {} for {}", name_of(wait.kind), wait.object);
    case WaitKind::kJoinThread:
      return "waits until its queue is written";
    case WaitKind::kIdle:
      return "waits for work from its process";
    default:
      return "waits for " + wait.object;
  }
}

std::vector<std::int32_t> Verdict::pids() const {
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < knot; ++i) {
    if (std::ranges::find(all, waits[i].pid) == all.end()) all.push_back(waits[i].pid);
  }
  return all;
}

std::string Verdict::rule() const {
  const auto* const found = std::ranges::find(kRules, code, &Rule::code);
  return found == kRules.end() ? std::string() : std::string(found->rule);
}

std::string Verdict::text() const {
  std::string out =
      cut(kind == Kind::kCycle
              ? fmt::format("HANG  {} threads wait for each other, for ever  [{}]", knot, code)
              : fmt::format("HANG  a thread waits for what nobody can do any more  [{}]", code));
  // One line for the head, one for what is left out, one for the rule. The line that says who could
  // end a wait is left out when there are many.
  const std::size_t lines_each = knot <= 3 ? 3 : 2;
  const std::size_t shown = std::min(knot, (kMostLines - 3) / lines_each);
  for (std::size_t i = 0; i < shown; ++i) {
    const Wait& wait = waits[i];
    out +=
        cut(fmt::format("{}{} {} for {:.2f} s", i == 0 ? "seen    " : "        ", who_waits(wait),
                        what_for(wait), static_cast<double>(wait.for_ns) / 1e9));
    out +=
        cut(fmt::format("          at {}:{} {}", short_path(wait.file), wait.line, wait.function));
    if (lines_each == 3) out += cut("          " + wait.enders);
  }
  const std::size_t others = waits.size() - shown;
  if (others > 0) out += cut(fmt::format("        and {} more that wait with these", others));
  return out + cut("rule    " + rule());
}

}  // namespace plab::shm
