// SPDX-License-Identifier: Apache-2.0
#include "ctest_output.h"

#include <cctype>
#include <charconv>
#include <optional>

namespace plab::lab {
namespace {

struct Result {
  int total;
  std::string_view name, status;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

/// Takes a number off the front of `text`.
bool take_number(std::string_view& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_text(std::string_view& text, std::string_view wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(wanted.size());
  return true;
}

/// The status begins behind the dots; a failure has stars in place of the spaces before it.
std::optional<Result> split(int total, std::string_view rest) {
  for (std::size_t dots = rest.find(" ."); dots != std::string_view::npos;
       dots = rest.find(" .", dots + 1)) {
    const std::size_t end = rest.find_first_not_of('.', dots + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view status = trimmed(rest.substr(end));
    if (status.starts_with("Passed ") || status.starts_with("***")) {
      return Result{total, rest.substr(0, dots), status};
    }
  }
  return std::nullopt;
}

// " 12/430 Test  #12: the name .......   Passed    0.05 sec"
// " 13/430 Test  #13: the name .......***Failed    0.05 sec" (also "***Failed  Error regular ...")
std::optional<Result> parse(std::string_view line) {
  int number = 0, total = 0;
  line = trimmed(line);
  if (!take_number(line, number) || !take_text(line, "/") || !take_number(line, total) ||
      !take_text(line, " Test")) {
    return std::nullopt;
  }
  line = trimmed(line);
  if (!take_text(line, "#") || !take_number(line, number) || !take_text(line, ": ") ||
      line.find(" sec") == std::string_view::npos) {
    return std::nullopt;
  }
  return split(total, line);
}

bool is_test_noise(std::string_view line) {
  return line.empty() || line.starts_with("Test project ") || line.starts_with("Internal ctest ") ||
         trimmed(line).starts_with("Start ");
}

}  // namespace

CTestOutput::Line CTestOutput::take(std::string_view line) {
  const std::optional<Result> result = parse(line);
  if (!result) return is_test_noise(line) ? Line::kNoise : Line::kOther;
  total_ = result->total;
  last_ = result->name;
  if (result->status.starts_with("Passed")) {
    ++passed_;
    return Line::kNoise;
  }
  const bool skipped = result->status.starts_with("***Skipped") ||
                       result->status.starts_with("***Not Run (Disabled)");
  ++(skipped ? skipped_ : failed_);
  return Line::kResult;
}

}  // namespace plab::lab
