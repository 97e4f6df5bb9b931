// SPDX-License-Identifier: Apache-2.0
#include "play.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <set>

#include "check.h"
#include "learn.h"
#include "progress.h"
#include "saves.h"

namespace plab::lab {

namespace {

/// What a mistake of this lab can come to, each once.
std::vector<std::string> outcomes(const Lab& lab) {
  std::set<std::string> codes;
  for (const auto& [name, code] : lab.mutants) codes.insert(code);
  return {codes.begin(), codes.end()};
}

/// The verdict that the user bets on, or nothing when there was no answer.
std::optional<std::string> ask(const Lab& lab) {
  const std::vector<std::string> codes = outcomes(lab);
  fmt::print("What will the check say? It finds one of these rules broken:\n");
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto text = text_of(lab, codes[i]);
    fmt::print("  {}  {:<18} {}\n", i + 1, codes[i], text ? text->rule : "");
  }
  fmt::print("number: ");
  std::fflush(stdout);
  std::size_t number = 0;
  if (!(std::cin >> number) || number < 1 || number > codes.size()) return std::nullopt;
  return codes[number - 1];
}

int list_mistakes(const Lab& lab) {
  fmt::print("the mistakes of lab {} {}:\n", lab.short_name(), lab.id);
  for (const auto& [name, code] : lab.mutants) fmt::print("  {}\n", name);
  fmt::print("then    ./lab break {} NAME\n", lab.short_name());
  return kExitPassed;
}

int show_mistake(const Context& context, const Lab& lab, const std::string& mistake,
                 const std::string& bet) {
  const std::string target = target_of(lab, "mutant_" + mistake);
  if (const std::string error = build_target(context, target); !error.empty()) {
    fmt::print(stderr, "lab: the mistake {} does not compile: a defect of plab\n{}", mistake,
               error);
    return kExitToolDefect;
  }
  const CheckResult result =
      run_check(context, lab, target, {.timeline = CheckOptions::Timeline::kYes});
  if (result.exit_code == kExitInterrupted || result.exit_code == kExitToolDefect) {
    fmt::print(stderr, "{}", report(lab, result));
    return result.exit_code;
  }
  fmt::print("{}\nyou said {}: {}\n", report(lab, result), bet,
             bet == result.code ? "right" : "it is another one");
  if (Progress(context).state(lab) == State::kPassed) {
    fmt::print("the mistake is in tests/labs/{}/mutants/{}.cpp\n", lab.folder, mistake);
  }
  return kExitPassed;
}

}  // namespace

int run_break(const Context& context, const Arguments& arguments) {
  std::string name;
  std::string mistake;
  std::string bet;
  CLI::App app{"predict what a mistake does, then see it", "lab break"};
  app.add_option("LAB", name, "number or id")->required();
  app.add_option("NAME", mistake, "of the mistake; without it they are listed");
  app.add_option("--predict", bet, "the verdict that you expect, instead of being asked");
  if (const auto code = parse_options(app, arguments)) return *code;
  const auto lab = choose_lab(context, name);
  if (!lab) return kExitUsage;
  if (mistake.empty()) return list_mistakes(*lab);
  if (!lab->mutants.contains(mistake)) {
    fmt::print(stderr, "lab break: lab {} has no mistake \"{}\"; ./lab break {} lists them\n",
               lab->short_name(), mistake, lab->short_name());
    return kExitUsage;
  }
  if (!bet.empty() && !text_of(*lab, bet)) {
    fmt::print(stderr, "lab break: there is no verdict \"{}\" in lab {}\n", bet, lab->short_name());
    return kExitUsage;
  }
  if (bet.empty()) {
    const auto answer = ask(*lab);
    if (!answer) {
      fmt::print(stderr, "\nlab break: predict first: one of the numbers, or --predict CODE\n");
      return kExitUsage;
    }
    bet = *answer;
  }
  return show_mistake(context, *lab, mistake, bet);
}

int run_watch(const Context& context, const Arguments& arguments) {
  std::string name;
  CLI::App app{"checks again whenever you save lab.cpp", "lab watch"};
  app.add_option("LAB", name, "number or id; without it the first that is not passed");
  bool poll = false;
  app.add_flag("--poll", poll, "look at the file's time again and again, for network folders");
  if (const auto code = parse_options(app, arguments)) return *code;
  const auto lab = choose_lab(context, name);
  if (!lab) return name.empty() ? kExitPassed : kExitUsage;
  Saves saves(lab->file(context), poll ? Notice::kPoll : Notice::kKernel);
  fmt::print("watch   labs/{}/lab.cpp {}\n\n", lab->folder,
             saves.notice() == Notice::kPoll
                 ? "is looked at four times a second"
                 : "is checked on each save; when saves go unnoticed: --poll");
  for (;;) {
    if (run_check_verb(context, {lab->short_name()}) == kExitInterrupted) return kExitInterrupted;
    fmt::print("watch   save lab.cpp, or press Enter, to check again; Ctrl-C ends\n\n");
    std::fflush(stdout);
    const int keys = is_terminal(STDIN_FILENO) ? STDIN_FILENO : -1;
    if (saves.wait(keys) == Woken::kInterrupted) return kExitInterrupted;
  }
}

}  // namespace plab::lab
