// SPDX-License-Identifier: Apache-2.0
#include "complete.h"

#include <algorithm>
#include <array>

#include "labs.h"

namespace plab::lab {

namespace {

bool takes_lab(const std::string& verb) {
  constexpr std::array kVerbs{"check", "watch", "hint",  "diff", "solution",
                              "reset", "trace", "break", "demo"};
  return std::ranges::find(kVerbs, verb) != kVerbs.end();
}

void add_labs(const std::vector<Lab>& labs, std::vector<std::string>& out) {
  for (const Lab& lab : labs) {
    out.push_back(lab.short_name());
    out.push_back(lab.id);
  }
}

void add_codes(const std::vector<Lab>& labs, std::vector<std::string>& out) {
  for (const Lab& lab : labs) {
    for (const auto& [code, text] : lab.verdicts) out.push_back(code);
  }
}

}  // namespace

std::vector<std::string> completions(const Context& context, const Arguments& words,
                                     const std::vector<std::string>& verbs) {
  std::vector<std::string> out;
  const std::string typed = words.empty() ? std::string() : words.back();
  const std::vector<Lab> labs = read_labs(context);
  if (words.size() <= 1) {
    out = verbs;
  } else if (words.size() == 2) {
    if (takes_lab(words[0])) add_labs(labs, out);
    if (words[0] == "explain") add_codes(labs, out);
    if (words[0] == "dev") out = {"check", "new", "sync"};
  } else if (words.size() == 3 && words[0] == "break") {
    if (const auto lab = find_lab(labs, words[1])) {
      for (const auto& [name, code] : lab->mutants) out.push_back(name);
    }
  } else if (words.size() == 3 && words[0] == "dev" && words[1] != "new") {
    add_labs(labs, out);
  }
  std::erase_if(out, [&](const std::string& word) { return !word.starts_with(typed); });
  std::ranges::sort(out);
  return out;
}

}  // namespace plab::lab
