// SPDX-License-Identifier: Apache-2.0
#include "dev.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "check.h"
#include "dev_new.h"
#include "labs.h"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "show.h"

namespace plab::lab {

namespace {

using nlohmann::json;

/// The gates of one lab; each is a line, and all must hold.
class Gates {
 public:
  enum class Sanitize { kNo, kYes };
  Gates(const Context& context, const Lab& lab, int seeds, Sanitize sanitize)
      : context_(context), lab_(lab), seeds_(seeds), sanitize_(sanitize) {}

  json run() {
    texts();
    content();
    agreement();
    skeleton();
    solution();
    for (const auto& [name, code] : lab_.mutants) mutant(name, code);
    demo();
    if (sanitize_ == Sanitize::kYes) {
      for (const std::string& name : lab_.sanitizers) sanitized(name);
    }
    return {{"lab", lab_.id},        {"ok", ok_},           {"skeleton", skeleton_},
            {"solution", solution_}, {"mutants", mutants_}, {"gates", gates_}};
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void gate(const std::string& name, bool holds, const std::string& wanted,
            const std::string& got) {
    ok_ = ok_ && holds;
    gates_.push_back({{"gate", name}, {"ok", holds}, {"wanted", wanted}, {"got", got}});
    fmt::print(stderr, "{:<6}{} {:<28} {}\n", holds ? "ok" : "FAILED", lab_.short_name(), name,
               holds ? "" : fmt::format("wanted {}, got {}", wanted, got));
  }
  // Every code has its texts and a ladder of three hints, and every code that a mutant or a
  // deadlock must get is one of them.
  void texts() {
    for (const auto& [code, text] : lab_.verdicts) {
      gate("hints of " + code, text.hints.size() == 3, "3", std::to_string(text.hints.size()));
    }
    for (const auto* table : {&lab_.mutants, &lab_.hang}) {
      for (const auto& [name, code] : *table) {
        gate("text for " + name, text_of(lab_, code).has_value(), "a text for " + code, "none");
      }
    }
    gate("mutants", lab_.mutants.size() >= 3, "at least 3", std::to_string(lab_.mutants.size()));
    gate("README fits a screen", lines_of("README.md") <= 45, "at most 45 lines",
         std::to_string(lines_of("README.md")));
  }
  void content() {
    const std::vector<std::string> open = unwritten(context_, lab_.folder);
    gate("content", open.empty(), "all of it written",
         open.empty() ? "" : fmt::format("{} places to write, first {}", open.size(), open[0]));
  }
  [[nodiscard]] std::int64_t lines_of(const std::string& name) const {
    const std::string text = os::read_file(context_.source / "labs" / lab_.folder / name);
    return std::ranges::count(text, '\n');
  }
  void agreement() {
    const std::string cut = cut_skeleton(os::read_file(lab_.solution(context_)), lab_.folder);
    const bool same = os::read_file(lab_.file(context_)) == cut;
    // A learner's own file is no fault of the lab.
    if (!same && std::getenv("CI") == nullptr) {
      fmt::print(stderr, "note  {} lab.cpp was edited: not compared with the solution\n",
                 lab_.short_name());
      return;
    }
    gate("skeleton agrees", same, "lab.cpp as cut", "another (./lab dev sync)");
  }
  CheckResult run(const std::string& kind, std::uint64_t seed, const std::string& method) {
    return run_check(context_, lab_, target_of(lab_, kind),
                     {.seed = seed, .repeat = 1, .start_method = method, .prints = stderr});
  }
  void skeleton() {
    const CheckResult result = run("skeleton", 1, "fork");
    skeleton_ = {{"wanted", int{kExitUntouched}}, {"got", result.exit_code}};
    gate("skeleton", result.exit_code == kExitUntouched, "7", std::to_string(result.exit_code));
  }
  /// The solution by each start method, with many seeds.
  void solution() {
    for (const std::string& method : lab_.start_methods) passes(method, seeds_, std::nullopt);
  }
  void sanitized(const std::string& name) {
    const auto sanitizer = sanitizer_named(name);
    if (!sanitizer) {
      gate("sanitizers of lab.toml", false, "address, thread", name);
      return;
    }
    const auto problem = compile_sanitized(context_, *sanitizer, target_of(lab_, "solution"));
    if (problem) {
      gate("solution builds, " + name, false, "no error", problem->error);
      return;
    }
    constexpr int kSeeds = 3;  // it is slow, and looks at every access of each
    for (const std::string& method : lab_.start_methods) {
      passes(method, std::min(seeds_, kSeeds), sanitizer);
    }
  }
  void passes(const std::string& method, int seeds, const std::optional<Sanitizer>& sanitizer) {
    std::string wrong;
    for (int seed = 1; seed <= seeds && wrong.empty(); ++seed) {
      const CheckResult result = run_check(context_, lab_, target_of(lab_, "solution"),
                                           {.seed = static_cast<std::uint64_t>(seed),
                                            .repeat = 1,
                                            .start_method = method,
                                            .sanitizer = sanitizer,
                                            .prints = stderr});
      if (result.exit_code != kExitPassed) {
        wrong = fmt::format("{} [{}] with seed {}: {}", result.exit_code, result.code, seed,
                            result.seen);
      }
    }
    const std::string with = sanitizer ? std::string(", ") + name_of(*sanitizer) : "";
    gate("solution by " + method + with, wrong.empty(), "0", wrong);
    solution_.push_back({{"start_method", method},
                         {"sanitizer", sanitizer ? name_of(*sanitizer) : "none"},
                         {"seeds", seeds},
                         {"ok", wrong.empty()},
                         {"got", wrong.empty() ? "0" : wrong}});
  }
  void mutant(const std::string& name, const std::string& code) {
    const CheckResult result = run("mutant_" + name, 1, "fork");
    mutants_.push_back(
        {{"name", name}, {"wanted", code}, {"got", result.code}, {"exit_code", result.exit_code}});
    gate("mutant " + name, result.code == code, code,
         fmt::format("{} (exit {})", result.code, result.exit_code));
  }

  void demo() {
    if (!std::filesystem::exists(context_.source / "labs" / lab_.folder / "demo.cpp")) {
      gate("demo", false, "labs/" + lab_.folder + "/demo.cpp", "no such file");
      return;
    }
    const LabDemoEnd end = run_lab_demo(context_, lab_);
    gate("demo", end.code == lab_.demo, lab_.demo.empty() ? "a good end" : lab_.demo,
         fmt::format("[{}] (exit {})", end.code, end.exit_code));
  }

  const Context& context_;
  const Lab& lab_;
  int seeds_;
  Sanitize sanitize_;
  bool ok_ = true;
  json skeleton_;
  json solution_ = json::array();
  json mutants_ = json::array();
  json gates_ = json::array();
};

int sync(const Context& context, const std::vector<Lab>& labs) {
  for (const Lab& lab : labs) {
    const auto from = lab.solution(context);
    os::write_file(lab.file(context), cut_skeleton(os::read_file(from), from.string()));
    fmt::print("labs/{}/lab.cpp\n", lab.folder);
  }
  return kExitPassed;
}

int check(const Context& context, const std::vector<Lab>& labs, int seeds, Gates::Sanitize sanitize,
          bool as_json) {
  bool ok = !labs.empty();
  json all = json::array();
  for (const Lab& lab : labs) {
    Gates gates(context, lab, seeds, sanitize);
    all.push_back(gates.run());
    ok = ok && gates.ok();
  }
  if (as_json) fmt::print("{}\n", all.dump(2));
  return ok ? kExitPassed : kExitCheckFailed;
}

int make(const Context& context, const std::string& id, std::optional<int> number) {
  try {
    for (const std::string& file : make_lab(context, id, number)) fmt::print("{}\n", file);
  } catch (const ContractError& problem) {
    fmt::print(stderr, "lab dev new: {}\n", problem.what());
    return kExitUsage;
  }
  fmt::print("then    ./lab dev check {}   says what is still to be written\n", id);
  return kExitPassed;
}

/// The lab of that name, or all without one; nothing when there is none, which has been said.
std::optional<std::vector<Lab>> labs_named(const Context& context, const std::string& name) {
  std::vector<Lab> labs = read_labs(context);
  if (name.empty()) return labs;
  const auto one = find_lab(labs, name);
  if (one) return std::vector<Lab>{*one};
  fmt::print(stderr, "lab dev: there is no lab \"{}\"\n", name);
  return std::nullopt;
}

}  // namespace

int run_dev(const Context& context, const Arguments& arguments) {
  CLI::App app{"for those who write labs", "lab dev"};
  app.require_subcommand(1);
  std::string name;
  std::string in;
  std::string out;
  std::string id;
  std::optional<int> number;
  int seeds = 20;
  bool as_json = false;
  bool sanitize = false;
  auto* const check_app = app.add_subcommand("check", "the gates of each lab");
  check_app->add_option("LAB", name, "number or id; without it all");
  check_app->add_option("--seeds", seeds, "for the solution, by each start method")
      ->check(CLI::Range(1, 10'000));
  check_app->add_flag("--json", as_json, "the gates as JSON on standard output");
  check_app->add_flag("--sanitize", sanitize,
                      "the solution also with the sanitizers that lab.toml names (slow)");
  auto* const sync_app = app.add_subcommand("sync", "cuts lab.cpp from the solution");
  sync_app->add_option("LAB", name, "number or id; without it all");
  auto* const cut_app = app.add_subcommand("cut", "cuts one file");
  cut_app->add_option("IN", in, "a solution")->required();
  cut_app->add_option("OUT", out, "the skeleton")->required();
  auto* const new_app = app.add_subcommand("new", "a lab whose content is still to be written");
  new_app->add_option("ID", id, "for ever, as fork-lock")->required();
  new_app->add_option("--number", number, "without it the one after the last");
  if (const auto code = parse_options(app, arguments)) return *code;
  if (new_app->parsed()) return make(context, id, number);
  if (cut_app->parsed()) {
    os::write_file(out, cut_skeleton(os::read_file(in), in));
    return kExitPassed;
  }
  const auto labs = labs_named(context, name);
  if (!labs) return kExitUsage;
  return sync_app->parsed()
             ? sync(context, *labs)
             : check(context, *labs, seeds, sanitize ? Gates::Sanitize::kYes : Gates::Sanitize::kNo,
                     as_json);
}

}  // namespace plab::lab
