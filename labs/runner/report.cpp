// SPDX-License-Identifier: Apache-2.0
// The report of a check: at most 25 lines, made of the same parts each time.
#include <fmt/format.h>

#include "check.h"
#include "layout.h"

namespace plab::lab {

namespace {

/// The lines of a verdict between its head and its rule, which the lab says in its own words.
std::string body_of(const std::string& verdict) {
  const auto from = verdict.find('\n') + 1;
  return verdict.substr(from, verdict.rfind("rule    ") - from);
}

/// The first line of a failure; what does not fit beside the code goes on a line of its own.
std::string head_line(const std::string& start, const CheckResult& result) {
  const std::string code = fmt::format("[{}]", result.code);
  const std::string check = result.where.empty() ? "" : "check: " + result.where;
  if (!check.empty() && start.size() + check.size() + code.size() + 4 <= kColumns) {
    return fmt::format("{}  {}  {}\n", start, check, code);
  }
  return fmt::format("{}{:>{}}\n{}", start, code, kColumns - start.size(),
                     part("check", result.where));
}

/// The last line: commands, which are not broken.
std::string commands(const std::string& text) { return fmt::format("next    {}\n", text); }

}  // namespace

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
                           : result.exit_code == kExitSlow  ? "SLOW"
                           : result.exit_code == kExitCrash ? "CRASH"
                                                            : "FAIL";
  std::string out = head_line(fmt::format("{:<6}{} {}", word, name, lab.id), result);
  out += result.seen.starts_with("HANG") ? body_of(result.seen) : part("seen", result.seen);
  out += part("rule", text.rule);
  out += part("why", text.why);
  const bool other_file = result.code == "LAB-EDITED";
  out += part("look",
              other_file ? text.look : fmt::format("labs/{}/lab.cpp, {}", lab.folder, text.look));
  out += part("stacks", result.stacks.string());
  return out +
         commands(fmt::format("./lab hint {0}   ./lab explain {1}   ./lab check {0} --seed {2}",
                              name, result.code, result.seed));
}

}  // namespace plab::lab
