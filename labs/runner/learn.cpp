// SPDX-License-Identifier: Apache-2.0
#include "learn.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

#include "labs.h"
#include "layout.h"
#include "plab/os/file.h"
#include "plab/os/process.h"
#include "progress.h"

namespace plab::lab {

namespace {

using nlohmann::json;

const char* word_of(State state) {
  switch (state) {
    case State::kTodo:
      return "todo";
    case State::kFailed:
      return "begun";
    case State::kPassed:
      return "passed";
    case State::kStale:
      return "stale";
  }
  return "?";
}

/// A verb with one lab and one flag.
int with_lab(const Context& context, const Arguments& arguments, const char* verb, const char* what,
             const char* flag, const char* flag_means,
             const std::function<int(const Lab&, bool)>& run) {
  std::string name;
  bool on = false;
  CLI::App app{what, std::string("lab ") + verb};
  app.add_option("LAB", name, "number or id; without it the first that is not passed");
  app.add_flag(flag, on, flag_means);
  if (const auto code = parse_options(app, arguments)) return *code;
  const auto lab = choose_lab(context, name);
  if (!lab) return name.empty() ? kExitPassed : kExitUsage;
  return run(*lab, on);
}

/// Whether the solution may be seen: after a pass, or when it was given up.
bool may_see(const Context& context, const Lab& lab, bool give_up) {
  Progress progress(context);
  if (progress.state(lab) == State::kPassed || progress.state(lab) == State::kStale) return true;
  if (give_up) progress.note_given_up(lab);
  if (progress.given_up(lab)) return true;
  fmt::print(
      "lab {} is not passed yet. ./lab hint {} helps; --give-up shows the solution all the "
      "same, and is kept in mind.\n",
      lab.short_name(), lab.short_name());
  return false;
}

}  // namespace

std::optional<Lab> choose_lab(const Context& context, const std::string& name) {
  const std::vector<Lab> labs = read_labs(context);
  if (!name.empty()) {
    auto found = find_lab(labs, name);
    if (!found) fmt::print(stderr, "lab: there is no lab \"{}\"; ./lab list shows them\n", name);
    return found;
  }
  const Progress progress(context);
  for (const Lab& lab : labs) {
    if (progress.state(lab) != State::kPassed) return lab;
  }
  fmt::print("all labs are passed\n");
  return std::nullopt;
}

int run_list(const Context& context, const Arguments& arguments) {
  bool as_json = false;
  CLI::App app{"the labs, and how far you are", "lab list"};
  app.add_flag("--json", as_json, "as JSON");
  if (const auto code = parse_options(app, arguments)) return *code;
  const Progress progress(context);
  json all = json::array();
  for (const Lab& lab : read_labs(context)) {
    const char* const state = word_of(progress.state(lab));
    all.push_back({{"number", lab.number},
                   {"id", lab.id},
                   {"title", lab.title},
                   {"kind", lab.kind},
                   {"minutes", lab.minutes},
                   {"cores", lab.cores},
                   {"state", state},
                   {"given_up", progress.given_up(lab)}});
    if (!as_json) {
      std::string line = fmt::format("{} {:<14} {:<6} {:>3} min  {:<8} {}", lab.short_name(),
                                     lab.id, state, lab.minutes, lab.kind, lab.title);
      if (is_terminal(STDOUT_FILENO) && line.size() > kColumns)
        line = line.substr(0, kColumns - 3) + "...";
      fmt::print("{}\n", line);
    }
  }
  if (as_json) fmt::print("{}\n", all.dump(2));
  return kExitPassed;
}

int run_hint(const Context& context, const Arguments& arguments) {
  return with_lab(context, arguments, "hint", "the next hint for the last verdict", "--more",
                  "all that were shown, and the next one", [&](const Lab& lab, bool more) {
                    Progress progress(context);
                    const std::string code = progress.last_code(lab);
                    const auto text = text_of(lab, code);
                    if (!text) {
                      fmt::print("There is no verdict on lab {} yet: ./lab check {}\n",
                                 lab.short_name(), lab.short_name());
                      return int{kExitPassed};
                    }
                    const int count = static_cast<int>(text->hints.size());
                    const int next = std::min(progress.hints_shown(lab) + 1, count);
                    for (int i = more ? 1 : next; i <= next; ++i) {
                      fmt::print("hint {} of {} for {}\n{}\n", i, count, code,
                                 text->hints[static_cast<std::size_t>(i) - 1]);
                    }
                    progress.note_hint(lab, next);
                    if (next == count)
                      fmt::print("That was the last one. ./lab explain {}\n", code);
                    return int{kExitPassed};
                  });
}

int run_explain(const Context& context, const Arguments& arguments) {
  std::string code;
  CLI::App app{"the long text of a verdict", "lab explain"};
  app.add_option("CODE", code, "as L01-SERIAL")->required();
  if (const auto exit_code = parse_options(app, arguments)) return *exit_code;
  for (const Lab& lab : read_labs(context)) {
    const auto text = text_of(lab, code);
    if (!text) continue;
    fmt::print("{}\n\n{}{}\n{}\n", code, part("rule", text->rule), part("why", text->why),
               text->explain);
    return kExitPassed;
  }
  fmt::print(stderr, "lab explain: there is no verdict \"{}\"; a check shows them in brackets\n",
             code);
  return kExitUsage;
}

int run_next(const Context& context, const Arguments& arguments) {
  CLI::App app{"the lab to do next", "lab next"};
  if (const auto code = parse_options(app, arguments)) return *code;
  const auto lab = choose_lab(context, "");
  if (!lab) return kExitPassed;
  fmt::print(
      "lab {} {}: {} ({} minutes)\nread    labs/{}/README.md\nedit    labs/{}/lab.cpp\n"
      "then    ./lab check {}\n",
      lab->short_name(), lab->id, lab->title, lab->minutes, lab->folder, lab->folder,
      lab->short_name());
  return kExitPassed;
}

int run_solution(const Context& context, const Arguments& arguments) {
  return with_lab(context, arguments, "solution", "our answer, after a pass", "--give-up",
                  "also without one", [&](const Lab& lab, bool give_up) {
                    if (!may_see(context, lab, give_up)) return int{kExitCheckFailed};
                    fmt::print("{}", os::read_file(lab.solution(context)));
                    return int{kExitPassed};
                  });
}

int run_diff(const Context& context, const Arguments& arguments) {
  return with_lab(context, arguments, "diff", "your lab.cpp beside ours, after a pass", "--give-up",
                  "also without one", [&](const Lab& lab, bool give_up) {
                    if (!may_see(context, lab, give_up)) return int{kExitCheckFailed};
                    os::Process diff = os::spawn_process(
                        "/usr/bin/env", {.argv = {"env", "diff", "-u", lab.file(context).string(),
                                                  lab.solution(context).string()},
                                         .env = os::environment(),
                                         .descriptors = {},
                                         .new_group = os::NewGroup::kNo});
                    const auto status = diff.wait(Deadline::never());
                    if (status->code == 0) fmt::print("your file is ours, to the letter\n");
                    return status->code <= 1 ? int{kExitPassed} : int{kExitToolDefect};
                  });
}

int run_reset(const Context& context, const Arguments& arguments) {
  return with_lab(
      context, arguments, "reset", "lab.cpp as it was at first; yours is kept", "--yes",
      "do not ask", [&](const Lab& lab, bool yes) {
        if (!yes) {
          fmt::print(
              "This puts the untouched lab.cpp in the place of yours, and keeps yours beside it. "
              "Say ./lab reset {} --yes\n",
              lab.short_name());
          return int{kExitUsage};
        }
        const std::time_t now = std::time(nullptr);
        std::array<char, 32> stamp{};
        std::strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", std::localtime(&now));
        const auto kept =
            context.source / ".lab" / fmt::format("{}-{}.cpp", lab.folder, stamp.data());
        std::filesystem::create_directories(kept.parent_path());
        os::write_file(kept, os::read_file(lab.file(context)));
        os::write_file(lab.file(context), cut_skeleton(os::read_file(lab.solution(context)),
                                                       lab.solution(context).string()));
        fmt::print("yours is kept as {}\n", kept.string());
        return int{kExitPassed};
      });
}

}  // namespace plab::lab
