// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calibration.h"
#include "compile.h"
#include "edited.h"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"
#include "progress.h"
#include "show.h"

namespace plab::lab {

namespace {

using nlohmann::json;

constexpr double kSanitizedTakes = 10;  // as long as without, at most

Limits limits_of(const Context& context, const Lab& lab, const CheckOptions& options) {
  const double once = lab.limit * calibration_of(context).unit();
  const double all = once * (1 + 0.1 * (options.repeat - 1));
  return Limits::of(options.sanitizer ? all * kSanitizedTakes : all);
}

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

}  // namespace

std::string target_of(const Lab& lab, const std::string& kind) {
  return "lab_" + lab.folder + (kind.empty() ? "" : "_" + kind);
}

std::string build_target(const Context& context, const std::string& target) {
  const auto problem = compile(context, target);
  if (!problem) return {};
  return fmt::format("{}all of it: {}\n", problem->error, problem->log.string());
}

namespace {

void keep_stacks(const std::filesystem::path& file, const RunEnd& end, CheckResult& result) {
  const auto& stacks = result.code == "LAB-CRASH" ? end.faults : end.stacks;
  if (stacks.empty()) return;
  result.stacks = file;
  std::filesystem::create_directories(file.parent_path());
  os::write_file(file, text_of(stacks));
}

/// What a sanitizer said, in the files of `folder` or in what the program printed, goes into
/// `file`.
void judge_sanitized(const Context& context, const std::filesystem::path& folder, const RunEnd& end,
                     const std::filesystem::path& file, CheckResult& result) {
  auto finding = read_findings(folder, context.source);
  // UndefinedBehaviorSanitizer beside another one writes to standard error, whatever it is told.
  if (!finding) finding = read_finding(end.output, context.source);
  if (finding) judge_finding(*finding, file, result);
}

/// The program was removed while it ran.
void judge_gone(const std::filesystem::path& program, CheckResult& result) {
  if (result.exit_code == kExitInterrupted) return;
  result.exit_code = kExitCheckFailed;
  result.code = "LAB-BUILD-GONE";
  result.seen = fmt::format("{} is gone; it was there when it was started", program.string());
}

}  // namespace

CheckResult run_check(const Context& context, const Lab& lab, const std::string& target,
                      const CheckOptions& options) {
  const os::TempFolder folder("plab-check-");
  const auto file = folder.path() / "result.json";
  const Context built = options.sanitizer ? with_sanitizer(context, *options.sanitizer) : context;
  const std::filesystem::path program = built.build / "labs" / target;
  std::optional<Recording> recording;
  std::vector<std::pair<std::string, std::string>> variables{{"PLAB_CHECK_RESULT", file.string()}};
  if (options.timeline == CheckOptions::Timeline::kYes) {
    variables.push_back(recording.emplace(context, lab).environment());
  }
  if (options.sanitizer) {
    std::ranges::copy(sanitizer_environment(folder.path()), std::back_inserter(variables));
  }
  const RunEnd end = run_supervised(
      {.argv = {program.string(), "--seed", std::to_string(options.seed), "--repeat",
                std::to_string(options.repeat), "--start-method", options.start_method},
       .environment = std::move(variables),
       .folder = folder.path() / "waits",
       .limits = options.limits ? *options.limits : limits_of(context, lab, options),
       .timeline = recording ? recording->environment().second : std::string()});
  const bool gone = !std::filesystem::exists(program);
  if (recording && !gone) {
    recording->finish(fmt::format("lab {} {}: check", lab.short_name(), lab.id));
  }
  CheckResult result;
  const bool has_result = take_result(file, result);
  judge_end(lab, end, has_result, result);
  const std::filesystem::path kept = Recording::folder(context, lab);
  if (!gone) keep_stacks(kept / "stacks.txt", end, result);
  // Whatever came of it: the rest follows from that.
  if (options.sanitizer) {
    judge_sanitized(context, folder.path(), end, kept / "sanitizer.txt", result);
  }
  if (gone) judge_gone(program, result);
  result.seconds = end.seconds;
  if (result.seed == 0) result.seed = options.seed;
  if (!end.output.empty()) {
    fmt::print(options.prints, "{}\n", prints_of(end, gone ? "" : kept / "output.txt"));
  }
  return result;
}

namespace {

/// Nothing: it is built; else what the verb exits with.
std::optional<int> build_lab(const Context& context, const Lab& lab, const std::string& target,
                             const std::optional<Sanitizer>& sanitizer) {
  if (!can_build(context)) {
    fmt::print(stderr,
               "lab: the build folder {} is gone\nnext    ./lab check {}   makes it again (a few "
               "minutes)\n",
               context.build.string(), lab.short_name());
    return kExitNotRunnable;
  }
  const auto problem =
      sanitizer ? compile_sanitized(context, *sanitizer, target) : compile(context, target);
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
  if (const auto code = build_lab(context, lab, target, options.sanitizer)) return *code;
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

int check_all(const Context& context, const std::vector<Lab>& labs, const CheckOptions& options,
              bool as_json) {
  int first_failure = kExitPassed;
  for (const Lab& lab : labs) {
    const int code = check_one(context, lab, options, as_json);
    if (first_failure == kExitPassed) first_failure = code;
  }
  return first_failure;
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
  std::string sanitizer;
  app.add_option("--sanitize", sanitizer, "build it with a sanitizer: address or thread (slow)")
      ->check(CLI::IsMember({"address", "thread"}));
  app.add_flag("--json", as_json, "the result as JSON");
  if (const auto code = parse_options(app, arguments)) return *code;
  if (as_json) options.prints = stderr;
  options.sanitizer = sanitizer_named(sanitizer);
  const std::vector<Lab> labs = read_labs(context);
  if (all) return check_all(context, labs, options, as_json);
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
