// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compile.h"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"
#include "progress.h"
#include "show.h"

namespace plab::lab {

namespace {

using nlohmann::json;

/// The learner's own prints: a screenful at most, and where the rest is.
std::string prints_of(const RunEnd& end, const std::filesystem::path& rest) {
  constexpr int kLines = 20;
  constexpr std::size_t kWide = 160;
  std::istringstream lines(end.output);
  std::string out;
  int count = 0;
  bool cut = false;
  for (std::string line; std::getline(lines, line); ++count) {
    if (cut = cut || count == kLines || line.size() > kWide; count == kLines) break;
    out += line.substr(0, kWide) + "\n";
  }
  if (!cut) return out;
  if (rest.empty()) return out + "...\n";
  std::error_code problem;
  std::filesystem::create_directories(rest.parent_path(), problem);
  try {
    os::write_file(rest, end.output);
  } catch (const Error&) {
    return out + "...\n";
  }
  return out + fmt::format("... it printed {} bytes; more of them: {}\n", end.output_bytes,
                           rest.string());
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
  if (kind == "failed") {
    result.exit_code = result.code == "LAB-CRASH" ? kExitCrash : kExitCheckFailed;
  }
  if (kind == "not done") result.exit_code = kExitUntouched;
  return true;
}

/// The first of them, a line each, and how many more there are.
std::string some_of(const std::vector<std::string>& things) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < things.size() && i < kShown; ++i) text += things[i] + "\n";
  if (things.size() > kShown) text += fmt::format("and {} more\n", things.size() - kShown);
  return text;
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
  } else if (result.exit_code == kExitPassed && !end.left.empty()) {
    result.code = "LAB-LEFT-BEHIND";
    result.seen = some_of(end.left);
    result.exit_code = kExitLeftBehind;
  }
}

}  // namespace

std::string target_of(const Lab& lab, const std::string& kind) {
  return "lab_" + lab.folder + (kind.empty() ? "" : "_" + kind);
}

std::string build_target(const Context& context, const std::string& target) {
  const auto problem = compile(context, target);
  if (!problem) return {};
  return fmt::format("{}all of it: {}\n", problem->error, problem->log.string());
}

CheckResult run_check(const Context& context, const Lab& lab, const std::string& target,
                      const CheckOptions& options) {
  const os::TempFolder folder("plab-check-");
  const std::filesystem::path file = folder.path() / "result.json";
  const std::filesystem::path program = context.build / "labs" / target;
  std::optional<Recording> recording;
  std::vector<std::pair<std::string, std::string>> variables{{"PLAB_CHECK_RESULT", file.string()}};
  if (options.timeline == CheckOptions::Timeline::kYes) {
    variables.push_back(recording.emplace(context, lab).environment());
  }
  const RunEnd end = run_supervised(
      {.argv = {program.string(), "--seed", std::to_string(options.seed), "--repeat",
                std::to_string(options.repeat), "--start-method", options.start_method},
       .environment = std::move(variables),
       .folder = folder.path() / "waits",
       .seconds = options.seconds + 2.0 * options.repeat});
  const bool gone = !std::filesystem::exists(program);
  if (recording && !gone) {
    recording->finish(fmt::format("lab {} {}: check", lab.short_name(), lab.id));
  }
  CheckResult result;
  const bool has_result = take_result(file, result);
  judge_end(lab, end, has_result, result);
  // Whatever came of it: the rest follows from that.
  if (gone && result.exit_code != kExitInterrupted) {
    result.exit_code = kExitCheckFailed;
    result.code = "LAB-BUILD-GONE";
    result.seen = fmt::format("{} is gone; it was there when it was started", program.string());
  }
  result.seconds = end.seconds;
  if (result.seed == 0) result.seed = options.seed;
  const auto rest =
      (gone ? std::filesystem::temp_directory_path() : Recording::folder(context, lab));
  if (!end.output.empty()) fmt::print("{}\n", prints_of(end, rest / "output.txt"));
  return result;
}

namespace {

/// Nothing: it is built; else what the verb exits with.
std::optional<int> build_lab(const Context& context, const Lab& lab, const std::string& target) {
  if (!can_build(context)) {
    fmt::print(stderr,
               "lab: the build folder {} is gone\nnext    ./lab check {}   makes it again (a few "
               "minutes)\n",
               context.build.string(), lab.short_name());
    return kExitNotRunnable;
  }
  const auto problem = compile(context, target);
  if (!problem) return std::nullopt;
  if (problem->whose == BuildProblem::Whose::kTool) {
    fmt::print(stderr,
               "lab: plab itself does not compile: the first error, not in a file of yours, is\n\n"
               "{}\nlog     {}\n",
               problem->error, problem->log.string());
    return kExitToolDefect;
  }
  fmt::print(
      "labs/{}/lab.cpp does not compile yet; the first error is\n\n{}\nlog     {}\n"
      "next    ./lab check {}\n",
      lab.folder, problem->error, problem->log.string(), lab.short_name());
  return kExitNotCompiled;
}

int check_one(const Context& context, const Lab& lab, const CheckOptions& options, bool as_json) {
  const std::string target = target_of(lab, "");
  if (const auto code = build_lab(context, lab, target)) return *code;
  const CheckResult result = run_check(context, lab, target, options);
  if (result.exit_code == kExitToolDefect) {
    fmt::print(stderr, "lab: the check of {} is at fault, not your work: {}\n", lab.folder,
               result.seen);
    return result.exit_code;
  }
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
