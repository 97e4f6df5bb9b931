// SPDX-License-Identifier: Apache-2.0
// main() of the lab tool: picks a verb by its name. `./lab` at the root builds and starts it.

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "bench.h"
#include "check.h"
#include "complete.h"
#include "demo.h"
#include "dev.h"
#include "doctor.h"
#include "learn.h"
#include "plab/base/error.h"
#include "plab/mp/init.h"
#include "play.h"
#include "selftest.h"
#include "show.h"
#include "verb.h"
#include "where.h"

namespace plab::lab {
namespace {

struct Verb {
  std::string_view name;
  std::string_view meaning;
  int (*run)(const Context&, const Arguments&);
};

/// The main job, or the demo of the lab that is named.
int run_either_demo(const Context& context, const Arguments& arguments) {
  const bool of_lab = !arguments.empty() && !arguments.front().starts_with('-');
  return of_lab ? run_lab_demo_verb(context, arguments) : run_demo(context, arguments);
}

constexpr std::array kVerbs{
    Verb{"next", "the lab to do next, and what to edit", run_next},
    Verb{"check", "build your lab.cpp and check it", run_check_verb},
    Verb{"watch", "check again whenever you save lab.cpp", run_watch},
    Verb{"hint", "the next hint for the last verdict", run_hint},
    Verb{"explain", "the long text of a verdict", run_explain},
    Verb{"list", "all labs, and how far you are", run_list},
    Verb{"diff", "your lab.cpp beside ours, after a pass", run_diff},
    Verb{"solution", "our answer, after a pass", run_solution},
    Verb{"reset", "lab.cpp as it was at first; yours is kept", run_reset},
    Verb{"trace", "the timeline of the last demo or check of a lab", run_trace},
    Verb{"break", "predict what a mistake does, then see it", run_break},
    Verb{"demo", "the main job: many processes train one network; demo N: that of a lab",
         run_either_demo},
    Verb{"doctor", "what this machine offers, what is wrong with it, and what mends it",
         run_doctor},
    Verb{"env", "the environment variables that plab reads", run_env},
    Verb{"bench", "measure plab beside its peers", run_bench},
    Verb{"selftest", "build everything and run all tests", run_selftest},
    Verb{"dev", "for those who write labs: check, sync, new", run_dev},
};

void print_verbs(std::FILE* out) {
  for (const Verb& verb : kVerbs) {
    fmt::print(out, "  ./lab {:<10} {}\n", verb.name, verb.meaning);
  }
  fmt::print(out, "  ./lab {:<10} {}\n", "setup", "only install what is missing, build nothing");
}

int run_help() {
  fmt::print(
      "plab: how training uses many cores and many processes, shown by running code.\n"
      "\n"
      "  ./lab            where you are, and what to do next\n");
  print_verbs(stdout);
  fmt::print("\n./lab VERB --help shows the options of a verb.\n");
  return kExitPassed;
}

/// For the scripts of completion/: the words after "--".
int run_complete(const Context& context, Arguments words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  std::vector<std::string> verbs{"setup"};
  for (const Verb& verb : kVerbs) verbs.emplace_back(verb.name);
  for (const std::string& word : completions(context, words, verbs)) fmt::print("{}\n", word);
  return kExitPassed;
}

int run(const Context& context, Arguments words) {
  if (words.empty()) {
    print_where(context);
    return kExitPassed;
  }
  if (words.front() == "--help" || words.front() == "-h" || words.front() == "help") {
    return run_help();
  }
  if (words.front() == "complete") {
    words.erase(words.begin());
    return run_complete(context, words);
  }
  for (const Verb& verb : kVerbs) {
    if (words.front() != verb.name) continue;
    words.erase(words.begin());
    return verb.run(context, words);
  }
  fmt::print(stderr, "lab: there is no verb \"{}\". There are:\n", words.front());
  print_verbs(stderr);
  return kExitUsage;
}

}  // namespace
}  // namespace plab::lab

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  using plab::lab::Context;
  try {
    const Context context{PLAB_LAB_SOURCE, PLAB_LAB_BUILD};
    return plab::lab::run(context, {argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "lab: {}\nlab: this is a defect of the tool, not of your work\n",
               error.what());
    return plab::lab::kExitToolDefect;
  }
}
