// SPDX-License-Identifier: Apache-2.0
#include "plab/base/timeline_export.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "plab/base/json_text.h"

namespace plab::timeline {

extern const std::string_view kPage;  // timeline_page.html, made a source file by CMake

namespace {

using Out = std::back_insert_iterator<std::string>;

bool has_duration(Kind kind) { return kind == Kind::kSpan || kind == Kind::kLockWait; }

std::string_view text_of(End end) {
  switch (end) {
    case End::kExited:
      return "exited";
    case End::kKilled:
      return "killed";
    case End::kRunning:
      return "running";
  }
  return "?";
}

std::string title_of(const ProcessTrack& track) {
  std::string title = fmt::format("{} {}", track.name.empty() ? "process" : track.name, track.pid);
  if (track.end == End::kKilled) title += " (killed)";
  return title;
}

// Ids that have a put and a get: only those get an arrow.
std::unordered_set<std::uint64_t> matched_ids(const Timeline& timeline) {
  std::unordered_set<std::uint64_t> put;
  std::unordered_set<std::uint64_t> both;
  for (const ProcessTrack& track : timeline.processes) {
    for (const PastEvent& event : track.events) {
      if (event.kind == Kind::kPut && event.id != 0) put.insert(event.id);
    }
  }
  for (const ProcessTrack& track : timeline.processes) {
    for (const PastEvent& event : track.events) {
      if (event.kind == Kind::kGet && put.contains(event.id)) both.insert(event.id);
    }
  }
  return both;
}

// Microseconds with three decimals, exactly.
std::string us(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

void add_event(std::string& out, const ProcessTrack& track, const PastEvent& event,
               std::int64_t first_ns) {
  const std::string_view kind = name_of(event.kind);
  const std::string label = json_string(event.label.empty() ? kind : event.label);
  fmt::format_to(Out(out), R"(,{{"name":{},"cat":"{}","pid":{},"tid":{},"ts":{},)", label, kind,
                 track.pid, event.tid, us(event.start_ns - first_ns));
  // A put and a get need a width, or the arrow between them has nothing to hang on.
  if (has_duration(event.kind) || event.kind == Kind::kPut || event.kind == Kind::kGet) {
    fmt::format_to(Out(out), R"("ph":"X","dur":{},)", us(event.duration_ns));
  } else {
    out += R"("ph":"i","s":"t",)";
  }
  fmt::format_to(Out(out), R"("args":{{"id":"{}","value":{}}}}})", event.id, event.value);
}

void add_flow(std::string& out, const ProcessTrack& track, const PastEvent& event,
              std::int64_t first_ns) {
  const bool put = event.kind == Kind::kPut;
  fmt::format_to(
      Out(out),
      R"(,{{"name":"message","cat":"flow","ph":"{}"{},"id":"{:#x}","pid":{},"tid":{},"ts":{}}})",
      put ? "s" : "f", put ? "" : R"(,"bp":"e")", event.id, track.pid, event.tid,
      us(event.start_ns - first_ns));
}

// Numbers that a double cannot hold go as text.
template <typename Number>
std::string js_number(Number number) {
  constexpr auto kMost = static_cast<Number>(std::int64_t{1} << 53U);
  bool exact = number <= kMost;
  if constexpr (std::is_signed_v<Number>) exact = exact && number >= -kMost;
  return exact ? fmt::format("{}", number) : fmt::format("\"{}\"", number);
}

// Labels repeat: each is written once and named by its number.
class Labels {
 public:
  std::size_t number_of(const std::string& label) {
    const auto [at, is_new] = numbers_.try_emplace(label, numbers_.size());
    if (is_new) {
      if (!text_.empty()) text_ += ',';
      text_ += json_string(label);
    }
    return at->second;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::string text_;
};

void add_lane(std::string& out, const std::vector<const PastEvent*>& events, Labels& labels,
              std::int64_t first_ns) {
  std::string name;
  for (const PastEvent* event : events) {
    if (event->kind == Kind::kThread) name = event->label;
  }
  fmt::format_to(Out(out), R"({{"tid":{},"name":{},"events":[)", events.front()->tid,
                 json_string(name));
  bool comma = false;
  for (const PastEvent* event : events) {
    if (event->kind == Kind::kThread) continue;
    fmt::format_to(Out(out), "{}[{},{},{},{},{},{}]", comma ? "," : "",
                   static_cast<unsigned>(event->kind), js_number(event->start_ns - first_ns),
                   js_number(event->duration_ns), labels.number_of(event->label),
                   js_number(event->id), js_number(event->value));
    comma = true;
  }
  out += "]}";
}

void add_track(std::string& out, const ProcessTrack& track, Labels& labels, std::int64_t first_ns) {
  std::map<std::uint32_t, std::vector<const PastEvent*>> lanes;
  for (const PastEvent& event : track.events) lanes[event.tid].push_back(&event);
  fmt::format_to(
      Out(out),
      R"({{"pid":{},"parent":{},"name":{},"end":"{}","code":{},"overwritten":{},"torn":{},"dropped":{},"lanes":[)",
      track.pid, track.parent_pid, json_string(track.name), text_of(track.end),
      js_number(track.exit_code), js_number(track.overwritten), js_number(track.torn),
      js_number(track.dropped));
  bool comma = false;
  for (const auto& [tid, events] : lanes) {
    if (comma) out += ',';
    add_lane(out, events, labels, first_ns);
    comma = true;
  }
  out += "]}";
}

std::string page_data(const Timeline& timeline) {
  const auto interval = interval_of(timeline);
  const std::int64_t first_ns = interval ? interval->first_ns : 0;
  std::string processes;
  Labels labels;
  for (const ProcessTrack& track : timeline.processes) {
    if (!processes.empty()) processes += ",\n";
    add_track(processes, track, labels, first_ns);
  }
  std::string problems;
  for (const std::string& problem : timeline.problems) {
    if (!problems.empty()) problems += ',';
    problems += json_string(problem);
  }
  std::string kinds;
  for (unsigned i = 0; i <= kLastKind; ++i) {
    kinds += fmt::format("{}\"{}\"", i == 0 ? "" : ",", name_of(static_cast<Kind>(i)));
  }
  return fmt::format(R"({{"end":{},"kinds":[{}],"problems":[{}],"labels":[{}],"processes":[{}]}})",
                     js_number(interval ? interval->last_ns - first_ns : 0), kinds, problems,
                     labels.text(), processes);
}

void replace(std::string& text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), with);
}

}  // namespace

std::string to_chrome_json(const Timeline& timeline) {
  const auto interval = interval_of(timeline);
  const std::int64_t first_ns = interval ? interval->first_ns : 0;
  const auto matched = matched_ids(timeline);
  std::string out = R"({"displayTimeUnit":"ns","traceEvents":[{"name":"plab","ph":"M","pid":0})";
  int order = 0;
  for (const ProcessTrack& track : timeline.processes) {
    fmt::format_to(
        Out(out),
        R"(,{{"name":"process_name","ph":"M","pid":{0},"args":{{"name":{1}}}}})"
        R"(,{{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{2}}}}})",
        track.pid, json_string(title_of(track)), order++);
    for (const PastEvent& event : track.events) {
      if (event.kind == Kind::kThread) {
        fmt::format_to(
            Out(out),
            R"(,{{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})",
            track.pid, event.tid, json_string(event.label));
        continue;
      }
      add_event(out, track, event, first_ns);
      const bool message = event.kind == Kind::kPut || event.kind == Kind::kGet;
      if (message && matched.contains(event.id)) add_flow(out, track, event, first_ns);
    }
  }
  out += "]}\n";
  return out;
}

std::string to_html(const Timeline& timeline, std::string_view title) {
  std::string page(kPage);
  // The data last in the page and first here: its labels may hold the other placeholder.
  replace(page, "PLAB_DATA", page_data(timeline));
  replace(page, "PLAB_TITLE", xml_text(title));
  replace(page, "PLAB_TITLE", xml_text(title));
  return page;
}

}  // namespace plab::timeline
