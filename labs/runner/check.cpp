// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "edited.h"
#include "layout.h"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"
#include "progress.h"
#include "show.h"

namespace plab::lab {

namespace {

using nlohmann::json;

/// The lines of a verdict between its head and its rule, which the lab says in its own words.
std::string body_of(const std::string& verdict) {
  const auto from = verdict.find('\n') + 1;
  return verdict.substr(from, verdict.rfind("rule    ") - from);
}

/// The first line of a failure; what does not fit beside the code goes on a line of its own.
std::string head_line(const std::string& start, const CheckResult& result) {
  const std::string code = fmt::format("[{}]", result.code);
  const std::string check = result.where.empty() ? "" : "check: " + result.where;
  if (start.size() + check.size() + code.size() + 4 <= kColumns) {
    return fmt::format("{}  {}  {}\n", start, check, code);
  }
  return fmt::format("{}{:>{}}\n{}", start, code, kColumns - start.size(),
                     part("check", result.where));
}

/// The last line: commands, which are not broken.
std::string commands(const std::string& text) { return fmt::format("next    {}\n", text); }

std::string first_lines(const std::string& text, int count) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; count > 0 && std::getline(lines, line); --count) out += line + "\n";
  return out;
}

/// From the file that the check wrote; false when there is none.
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
  result.proved = all.value("proved", std::vector<std::string>());
  if (kind == "passed") result.exit_code = kExitPassed;
  if (kind == "failed") result.exit_code = kExitCheckFailed;
  if (kind == "not done") result.exit_code = kExitUntouched;
  return true;
}

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
      result.code = "LAB-STUCK";
      result.exit_code = kExitHang;
      result.seen =
          fmt::format("no end after {:.0f} s; in the last second it computed for {:.1f} s",
                      end.seconds, end.cpu_seconds);
      for (const std::string& line : end.processes) result.seen += "\n" + line;
      for (const shm::Wait& wait : end.waits) {
        result.seen += fmt::format("\n{} {} at {}:{}", shm::who_waits(wait), shm::what_for(wait),
                                   wait.file, wait.line);
      }
      return;
    case RunEnd::How::kInterrupted:
      result.exit_code = kExitInterrupted;
      return;
    case RunEnd::How::kEnded:
      break;
  }
  if (end.status.signal != 0) {
    result.code = "LAB-CRASH";
    result.seen = "the program of the check was " + end.status.text();
    result.exit_code = kExitCrash;
  } else if (!has_result) {
    result.code = "LAB-EXITED";
    result.seen = fmt::format("the program of the check {}, in the middle", end.status.text());
    result.exit_code = kExitCheckFailed;
  } else if (result.exit_code == kExitPassed && !end.left.empty()) {
    result.code = "LAB-LEFT-BEHIND";
    result.seen.clear();
    for (const std::string& thing : end.left) result.seen += thing + "\n";
    result.exit_code = kExitLeftBehind;
  }
}

}  // namespace

std::string target_of(const Lab& lab, const std::string& kind) {
  return "lab_" + lab.folder + (kind.empty() ? "" : "_" + kind);
}

std::string build_target(const Context& context, const std::string& target) {
  const std::filesystem::path log = context.build / ".lab" / (target + ".log");
  std::filesystem::create_directories(log.parent_path());
  const std::string command = fmt::format("cmake --build '{}' --target {} >'{}' 2>&1",
                                          context.build.string(), target, log.string());
  os::Process build = os::spawn_process("/bin/sh", {.argv = {"/bin/sh", "-c", command},
                                                    .env = os::environment(),
                                                    .descriptors = {},
                                                    .new_group = os::NewGroup::kNo});
  if (build.wait(Deadline::never())->success()) return {};
  std::istringstream lines(os::read_file(log));
  std::string error;
  for (std::string line; std::getline(lines, line);) {
    if (error.empty() && line.find("error:") == std::string::npos) continue;
    error += line + "\n";
    if (std::ranges::count(error, '\n') == 6) break;
  }
  return fmt::format("{}all of it: {}\n", error, log.string());
}

CheckResult run_check(const Context& context, const Lab& lab, const std::string& target,
                      const CheckOptions& options) {
  const os::TempFolder folder("plab-check-");
  const std::filesystem::path file = folder.path() / "result.json";
  std::optional<Recording> recording;
  std::vector<std::pair<std::string, std::string>> variables{{"PLAB_CHECK_RESULT", file.string()}};
  if (options.timeline == CheckOptions::Timeline::kYes) {
    variables.push_back(recording.emplace(context, lab).environment());
  }
  const RunEnd end = run_supervised(
      {.argv = {(context.build / "labs" / target).string(), "--seed", std::to_string(options.seed),
                "--repeat", std::to_string(options.repeat), "--start-method", options.start_method},
       .environment = std::move(variables),
       .folder = folder.path() / "waits",
       .seconds = 20.0 + 2.0 * options.repeat});
  if (recording) recording->finish(fmt::format("lab {} {}: check", lab.short_name(), lab.id));
  CheckResult result;
  const bool has_result = take_result(file, result);
  judge_end(lab, end, has_result, result);
  result.seconds = end.seconds;
  if (result.seed == 0) result.seed = options.seed;
  if (!end.output.empty()) fmt::print("{}\n", first_lines(end.output, 40));
  return result;
}

std::string report(const Lab& lab, const CheckResult& result) {
  const std::string name = lab.short_name();
  if (result.exit_code == kExitPassed) {
    std::string out = fmt::format("PASS  {} {}{:>{}.1f} s\n", name, lab.id, result.seconds,
                                  kColumns - 11 - name.size() - lab.id.size());
    for (std::size_t i = 0; i < result.proved.size(); ++i) {
      out += part(i == 0 ? "proved" : "", result.proved[i]);
    }
    return out + commands(fmt::format("./lab diff {}   compare with ours      ./lab next", name));
  }
  if (result.exit_code == kExitUntouched) {
    return fmt::format("TODO  {} {}: TODO({}) is not done yet\n", name, lab.id, result.todo) +
           part("edit", fmt::format("labs/{}/lab.cpp; what to do: labs/{}/README.md", lab.folder,
                                    lab.folder)) +
           part("then", fmt::format("./lab check {}", name));
  }
  if (result.exit_code == kExitInterrupted) return "lab: interrupted; nothing of it is left\n";
  const auto text = text_of(lab, result.code).value_or(VerdictText{});
  const char* const word = result.exit_code == kExitHang    ? "HANG"
                           : result.exit_code == kExitCrash ? "CRASH"
                                                            : "FAIL";
  std::string out = head_line(fmt::format("{:<6}{} {}", word, name, lab.id), result);
  out += result.seen.starts_with("HANG") ? body_of(result.seen) : part("seen", result.seen);
  out += part("rule", text.rule);
  out += part("why", text.why);
  const bool other_file = result.code == "LAB-EDITED";
  out += part("look",
              other_file ? text.look : fmt::format("labs/{}/lab.cpp, {}", lab.folder, text.look));
  return out +
         commands(fmt::format("./lab hint {0}   ./lab explain {1}   ./lab check {0} --seed {2}",
                              name, result.code, result.seed));
}

namespace {

/// A pass against another check or another core than plab came with is none.
void look_for_edits(const Context& context, const Lab& lab, CheckResult& result) {
  if (result.exit_code != kExitPassed) return;
  const std::vector<std::string> edited = edited_files(context, lab);
  if (edited.empty()) return;
  result.exit_code = kExitCheckFailed;
  result.code = "LAB-EDITED";
  result.seen = "all that is checked holds, but these are not as they came:";
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(edited.size(), kShown); ++i) {
    result.seen += "\n" + edited[i];
  }
  if (edited.size() > kShown) {
    result.seen += fmt::format("\nand {} more", edited.size() - kShown);
  }
}

int check_one(const Context& context, const Lab& lab, const CheckOptions& options, bool as_json) {
  const std::string target = target_of(lab, "");
  if (const std::string error = build_target(context, target); !error.empty()) {
    fmt::print("labs/{}/lab.cpp does not compile; the first error is\n\n{}", lab.folder, error);
    return kExitNotCompiled;
  }
  CheckResult result = run_check(context, lab, target, options);
  if (result.exit_code == kExitToolDefect) {
    fmt::print(stderr, "lab: the check of {} is at fault, not your work: {}\n", lab.folder,
               result.seen);
    return result.exit_code;
  }
  look_for_edits(context, lab, result);
  if (result.exit_code != kExitInterrupted && result.exit_code != kExitUntouched) {
    Progress(context).note(lab, result.exit_code == kExitPassed, result.code);
  }
  if (as_json) {
    fmt::print("{}\n", json{{"lab", lab.id},
                            {"exit_code", result.exit_code},
                            {"code", result.code},
                            {"seen", result.seen},
                            {"proved", result.proved},
                            {"seed", result.seed},
                            {"seconds", result.seconds}}
                           .dump(2));
  } else {
    fmt::print("{}", report(lab, result));
  }
  return result.exit_code;
}

}  // namespace

int run_check_verb(const Context& context, const Arguments& arguments) {
  CheckOptions options{.timeline = CheckOptions::Timeline::kYes};
  std::string name;
  bool all = false;
  bool as_json = false;
  CLI::App app{"builds your lab.cpp and checks it", "lab check"};
  app.add_option("LAB", name, "number or id; without it the first that is not passed");
  app.add_flag("--all", all, "every lab, one after the other");
  app.add_option("--seed", options.seed, "what the numbers of the check come from");
  app.add_option("--repeat", options.repeat, "how often, each time with the next seed")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--start-method", options.start_method, "fork, spawn or forkserver")
      ->check(CLI::IsMember({"fork", "spawn", "forkserver"}));
  app.add_flag("--json", as_json, "the result as JSON");
  if (const auto code = parse_options(app, arguments)) return *code;
  const std::vector<Lab> labs = read_labs(context);
  if (all) {
    int worst = kExitPassed;
    for (const Lab& lab : labs) {
      const int code = check_one(context, lab, options, as_json);
      if (worst == kExitPassed) worst = code;
    }
    return worst;
  }
  if (name.empty()) {
    const Progress progress(context);
    for (const Lab& lab : labs) {
      if (progress.state(lab) != State::kPassed) return check_one(context, lab, options, as_json);
    }
    name = "1";
  }
  const auto lab = find_lab(labs, name);
  if (!lab) {
    fmt::print(stderr, "lab check: there is no lab \"{}\"; ./lab list shows them\n", name);
    return kExitUsage;
  }
  return check_one(context, *lab, options, as_json);
}

}  // namespace plab::lab
