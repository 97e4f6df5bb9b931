// SPDX-License-Identifier: Apache-2.0
#include "outcome.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "plab/os/file.h"
#include "plab/os/signals.h"
#include "sanitize.h"

namespace plab::lab {

using nlohmann::json;

std::string some_of(const std::vector<std::string>& things) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < things.size() && i < kShown; ++i) text += things[i] + "\n";
  if (things.size() > kShown) text += fmt::format("and {} more\n", things.size() - kShown);
  return text;
}

namespace {

/// Each thread of one that did not end: its state, and where it is.
std::vector<std::string> threads_of(const RunEnd& end) {
  std::vector<std::string> all;
  for (std::string line : end.processes) {
    for (const ThreadStack& stack : end.stacks) {
      if (!line.starts_with(fmt::format("process {} ", stack.pid)) ||
          line.find(fmt::format("thread {}:", stack.tid)) == std::string::npos) {
        continue;
      }
      if (const std::string place = place_of(stack); !place.empty()) {
        line.resize(line.find(" in "));
        line += ", " + place;
      }
    }
    for (const shm::Wait& wait : end.waits) {
      if (line.find(fmt::format("thread {}:", wait.tid)) == std::string::npos) continue;
      line += ", " + shm::what_for(wait);
    }
    all.push_back(std::move(line));
  }
  return all;
}

/// Where processes crashed, a line each.
std::string crashes_of(const RunEnd& end) {
  std::vector<std::string> all;
  for (const ThreadStack& fault : end.faults) {
    const std::string place = place_of(fault);
    if (place.empty()) continue;
    all.push_back(
        fmt::format("{} in process {}: {}", os::signal_name(fault.signal), fault.pid, place));
  }
  return some_of(all);
}

}  // namespace

bool take_result(const std::filesystem::path& file, CheckResult& result) {
  json all;
  try {
    all = json::parse(os::read_file(file));
  } catch (const std::exception&) {
    return false;
  }
  const std::string kind = all.value("result", "");
  result.seen = all.value("seen", "");
  result.where = all.value("case", "");
  result.code = all.value("code", "");
  result.todo = all.value("todo", 0);
  result.seed = all.value("seed", std::uint64_t{0});
  result.left = all.value("left", std::vector<std::string>());
  result.proved = all.value("proved", std::vector<std::string>());
  if (kind == "passed") result.exit_code = kExitPassed;
  if (kind == "failed") {
    result.exit_code = result.code == "LAB-CRASH" ? kExitCrash : kExitCheckFailed;
  }
  if (kind == "not done") result.exit_code = kExitUntouched;
  return true;
}

namespace {

/// Of a program that came to an end by itself.
void judge_exit(const RunEnd& end, bool has_result, CheckResult& result) {
  if (end.parent_killed) {
    result.code = "LAB-PARENT-KILLED";
    result.seen = "the process that started the check and waited for it was killed";
    result.exit_code = kExitCrash;
  } else if (end.status.signal != 0) {
    result.code = "LAB-CRASH";
    result.seen = "the program of the check was " + end.status.text();
    result.exit_code = kExitCrash;
  } else if (!has_result) {
    result.code = "LAB-EXITED";
    result.seen = fmt::format("the program of the check {}, in the middle\n{}", end.status.text(),
                              some_of(end.left));
    result.exit_code = kExitCheckFailed;
  } else if (result.exit_code == kExitPassed && !end.crashed.empty()) {
    result.code = "LAB-CRASH";
    result.seen = some_of(end.crashed) + "and nobody asked how it had ended";
    result.exit_code = kExitCrash;
  } else if (result.left.insert(result.left.end(), end.left.begin(), end.left.end());
             result.exit_code == kExitPassed && !result.left.empty()) {
    result.code = "LAB-LEFT-BEHIND";
    result.seen = some_of(result.left);
    result.exit_code = kExitLeftBehind;
  }
  if (result.code == "LAB-CRASH") {
    if (!result.seen.ends_with("\n")) result.seen += "\n";
    result.seen += crashes_of(end);
  }
}

}  // namespace

void judge_end(const Lab& lab, const RunEnd& end, bool has_result, CheckResult& result) {
  switch (end.how) {
    case RunEnd::How::kDeadlock: {
      const auto own = lab.hang.find(end.verdict->code);
      result.code = own == lab.hang.end() ? "LAB-DEADLOCK" : own->second;
      result.seen = end.verdict->text();
      result.exit_code = kExitHang;
      return;
    }
    case RunEnd::How::kStuck:
    case RunEnd::How::kSlow:
      result.code = end.how == RunEnd::How::kStuck ? "LAB-STUCK" : "LAB-SLOW";
      result.exit_code = end.how == RunEnd::How::kStuck ? kExitHang : kExitSlow;
      result.seen =
          fmt::format("no end after {:.0f} s; in the last second it computed for {:.1f} s",
                      end.seconds, end.cpu_seconds);
      result.seen += "\n" + some_of(threads_of(end));
      return;
    case RunEnd::How::kInterrupted:
      result.exit_code = kExitInterrupted;
      return;
    case RunEnd::How::kEnded:
      judge_exit(end, has_result, result);
  }
}

void judge_finding(const SanitizerFinding& finding, const std::filesystem::path& file,
                   CheckResult& result) {
  if (result.exit_code == kExitInterrupted) return;
  std::filesystem::create_directories(file.parent_path());
  os::write_file(file, finding.text);
  result.exit_code = kExitCheckFailed;
  result.code = "LAB-SANITIZER";
  result.seen = finding.head + "\n";
  if (!finding.where.empty()) result.seen += "at " + finding.where + "\n";
  if (finding.others > 0) result.seen += fmt::format("and {} more processes\n", finding.others);
  result.seen += "all of it: " + file.string();
}

}  // namespace plab::lab
