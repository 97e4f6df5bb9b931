// SPDX-License-Identifier: Apache-2.0
#include "where.h"

#include <fmt/format.h>

#include <algorithm>

#include "labs.h"
#include "progress.h"

namespace plab::lab {

namespace {

void print_first_use(const Lab& first) {
  fmt::print(
      "start   ./lab demo        train one network with several processes (a minute)\n"
      "then    labs/{}/README.md    read it, edit lab.cpp beside it, and\n"
      "        ./lab check {:<5} builds your lab.cpp and says what is right or wrong\n",
      first.folder, first.short_name());
}

void print_next(const Progress& progress, const Lab& lab) {
  const std::string name = lab.short_name();
  fmt::print("next    {} {}: {} ({} minutes)\n", name, lab.id, lab.title, lab.minutes);
  fmt::print("read    labs/{0}/README.md\nedit    labs/{0}/lab.cpp\n", lab.folder);
  switch (progress.state(lab)) {
    case State::kStale:
      fmt::print("state   passed once; lab.cpp or its check has changed since\n");
      break;
    case State::kFailed:
      fmt::print("state   the last check said {0}:  ./lab hint {1}   ./lab explain {0}\n",
                 progress.last_code(lab), name);
      break;
    case State::kTodo:
    case State::kPassed:
      break;
  }
  fmt::print("then    ./lab check {0}   or  ./lab watch {0}   (checks on each save)\n", name);
}

}  // namespace

void print_where(const Context& context) {
  const std::vector<Lab> labs = read_labs(context);
  const Progress progress(context);
  const auto passed = [&](const Lab& lab) { return progress.state(lab) == State::kPassed; };
  fmt::print("plab    {} labs, {} passed\n", labs.size(), std::ranges::count_if(labs, passed));
  const auto next = std::ranges::find_if_not(labs, passed);
  const bool begun = std::ranges::any_of(
      labs, [&](const Lab& lab) { return progress.state(lab) != State::kTodo; });
  if (labs.empty()) return;
  if (next == labs.end()) {
    fmt::print(
        "next    ./lab check --all   checks them all again;  ./lab bench   shows the speed\n");
  } else if (!begun) {
    print_first_use(*next);
  } else {
    print_next(progress, *next);
  }
  fmt::print("all     ./lab list   the labs;  ./lab --help   the verbs\n");
}

}  // namespace plab::lab
