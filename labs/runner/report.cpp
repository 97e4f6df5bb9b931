// SPDX-License-Identifier: Apache-2.0
// The report of a check: at most 25 lines, made of the same parts each time.
#include <fmt/format.h>

#include <sstream>

#include "check.h"

namespace plab::lab {

namespace {

constexpr std::size_t kColumns = 80;

/// Breaks a text at spaces; every line but the first is set in by `indent`.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  std::istringstream lines(text);
  bool first_line = true;
  for (std::string line; std::getline(lines, line); first_line = false) {
    if (!first_line) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    std::istringstream words(line);
    bool first = true;
    for (std::string word; words >> word; first = false) {
      if (!first && column + 1 + word.size() > kColumns) {
        out += "\n" + std::string(indent, ' ');
        column = indent;
      } else if (!first) {
        out += ' ';
        ++column;
      }
      out += word;
      column += word.size();
    }
  }
  return out;
}

std::string part(std::string_view name, const std::string& text) {
  return text.empty() ? "" : fmt::format("{:<8}{}\n", name, wrapped(text, 8));
}

/// The lines of a verdict between its head and its rule, which the lab says in its own words.
std::string body_of(const std::string& verdict) {
  const auto from = verdict.find('\n') + 1;
  return verdict.substr(from, verdict.rfind("rule    ") - from);
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
  std::string out = fmt::format("{:<6}{} {}  {}  [{}]\n", word, name, lab.id,
                                result.where.empty() ? "" : "check: " + result.where, result.code);
  out += result.seen.starts_with("HANG") ? body_of(result.seen) : part("seen", result.seen);
  out += part("rule", text.rule);
  out += part("why", text.why);
  out += part("look", fmt::format("labs/{}/lab.cpp, {}", lab.folder, text.look));
  out += part("stacks", result.stacks.string());
  return out +
         commands(fmt::format("./lab hint {0}   ./lab explain {1}   ./lab check {0} --seed {2}",
                              name, result.code, result.seed));
}

}  // namespace plab::lab
