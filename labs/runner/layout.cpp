// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <fmt/format.h>

#include <sstream>

namespace plab::lab {

namespace {

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

}  // namespace

std::string part(std::string_view name, const std::string& text) {
  return text.empty() ? "" : fmt::format("{:<8}{}\n", name, wrapped(text, 8));
}

}  // namespace plab::lab
