// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
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
  if (line.size() > kColumns) line = line.substr(0, kColumns - 3) + "...";
  return line + "\n";
}

std::string who(const Wait& wait) {
  const std::string name = wait.process.empty() ? "" : wait.process + ", ";
  return wait.tid == wait.pid ? fmt::format("{}process {}", name, wait.pid)
                              : fmt::format("{}process {} thread {}", name, wait.pid, wait.tid);
}

std::string what(const Wait& wait) {
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

/// The last three parts of a path: enough to find it.
std::string short_path(const std::string& path) {
  std::size_t from = path.size();
  for (int part = 0; part < 3 && from != std::string::npos && from != 0; ++part) {
    from = path.rfind('/', from - 1);
  }
  return from == std::string::npos || from == 0 ? path : path.substr(from + 1);
}

std::string file_name(const Wait& wait) {
  const auto slash = wait.file.rfind('/');
  return slash == std::string::npos ? wait.file : wait.file.substr(slash + 1);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

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
    out += cut(fmt::format("{}{} {} for {:.2f} s", i == 0 ? "seen    " : "        ", who(wait),
                           what(wait), static_cast<double>(wait.for_ns) / 1e9));
    out +=
        cut(fmt::format("          at {}:{} {}", short_path(wait.file), wait.line, wait.function));
    if (lines_each == 3) out += cut("          " + wait.enders);
  }
  const std::size_t others = waits.size() - shown;
  if (others > 0) out += cut(fmt::format("        and {} more that wait with these", others));
  return out + cut("rule    " + rule());
}

std::string Verdict::svg() const {
  constexpr double kWidth = 760;
  constexpr double kHeight = 460;
  constexpr double kBoxWidth = 260;
  constexpr double kBoxHeight = 58;
  const std::size_t count = std::min<std::size_t>(waits.size(), 12);
  const auto at = [&](std::size_t i) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(count) -
        std::numbers::pi / 2;
    const double reach = count == 1 ? 0 : 1;
    return std::pair(kWidth / 2 + reach * std::cos(angle) * (kWidth / 2 - kBoxWidth / 2 - 20),
                     kHeight / 2 + 20 + reach * std::sin(angle) * (kHeight / 2 - kBoxHeight - 10));
  };
  std::string out = fmt::format(
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">
<style>
text {{ font: 12px system-ui, sans-serif; fill: #24292f; }} .title {{ font-size: 15px; font-weight: 600; }}
.back {{ fill: #ffffff; }} .box {{ fill: #f6f8fa; stroke: #6a737d; }} .knot {{ stroke: #c4314b; stroke-width: 2; }}
.edge {{ stroke: #6a737d; fill: none; stroke-width: 1.6; }} .tip {{ fill: #6a737d; }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #e4e8ec; }} .back {{ fill: #14181c; }} .box {{ fill: #20262c; }} }}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>
<rect class="back" width="{0}" height="{1}"/>
<text class="title" x="20" y="26">{2}</text><text x="20" y="46">{3}</text>
)svg",
      kWidth, kHeight, escaped(code), escaped(rule()));
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t to : waits[i].waits_for) {
      if (to >= count || to == i) continue;
      const auto [x1, y1] = at(i);
      const auto [x2, y2] = at(to);
      const double length = std::hypot(x2 - x1, y2 - y1);
      // To the edge of the box, and bent, so that there and back are two lines.
      const double stop = 1 - std::min({0.45, kBoxWidth / 2 / std::max(1.0, std::abs(x2 - x1)),
                                        kBoxHeight / 2 / std::max(1.0, std::abs(y2 - y1))});
      const double bend = 24 / length;
      out += fmt::format(
          "<path class=\"edge\" marker-end=\"url(#tip)\" d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} "
          "{:.1f}\"/>\n",
          x1, y1, (x1 + x2) / 2 - (y2 - y1) * bend, (y1 + y2) / 2 + (x2 - x1) * bend,
          x1 + (x2 - x1) * stop, y1 + (y2 - y1) * stop);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto [x, y] = at(i);
    out += fmt::format(
        "<rect class=\"box{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"6\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}:{}</text>\n",
        i < knot ? " knot" : "", x - kBoxWidth / 2, y - kBoxHeight / 2, kBoxWidth, kBoxHeight,
        x - kBoxWidth / 2 + 8, y - 12, escaped(who(waits[i])), x - kBoxWidth / 2 + 8, y + 5,
        escaped(what(waits[i])), x - kBoxWidth / 2 + 8, y + 22, escaped(file_name(waits[i])),
        waits[i].line);
  }
  return out + "</svg>\n";
}

}  // namespace plab::shm
