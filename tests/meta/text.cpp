// SPDX-License-Identifier: Apache-2.0
// Reading the tree, and taking comments out of C++.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "rules.h"

namespace plab::meta {

namespace {

// "build", "build-dev", ".git", "__pycache__" ...: nothing of the project is in them.
bool is_foreign(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  return name == "build" || name.rfind("build-", 0) == 0 || name == "out" ||
         name == "__pycache__" || (name.front() == '.' && name != ".ci");
}

bool is_text(const std::filesystem::path& file) {
  static constexpr std::array kEndings{".h",  ".cpp",  ".cmake", ".txt", ".md",   ".sh",
                                       ".py", ".toml", ".json",  ".in",  ".html", ".svg"};
  const std::string ending = file.extension().string();
  const std::string name = file.filename().string();
  return std::ranges::find(kEndings, ending) != kEndings.end() || name == "lab" || name == "run" ||
         name == "Doxyfile" || name == "LICENSE" || name == ".clang-tidy" ||
         name == ".clang-format";
}

}  // namespace

Layers read_layers(std::string_view text) {
  Layers layers;
  std::map<int, std::string> taken;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    int number = 0;
    std::string name;
    std::string more;
    if (!(words >> number >> name) || words >> more || !taken.emplace(number, name).second ||
        !layers.emplace(name, number).second) {
      throw std::runtime_error("core/layers.txt: not \"NUMBER NAME\", or not unique: " + line);
    }
  }
  return layers;
}

std::vector<Source> read_tree(const std::filesystem::path& root) {
  std::vector<Source> tree;
  for (auto it = std::filesystem::recursive_directory_iterator(root);
       it != std::filesystem::recursive_directory_iterator(); ++it) {
    if (it->is_directory() && is_foreign(it->path())) it.disable_recursion_pending();
    // A link points at a build's compile commands, or at a file that is read by its own name.
    if (it->is_symlink() || !it->is_regular_file() || !is_text(it->path())) continue;
    std::ifstream file(it->path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    tree.push_back({it->path().lexically_relative(root).generic_string(), std::move(text).str()});
  }
  std::ranges::sort(tree, {}, &Source::path);
  return tree;
}

// A scanner with five states. Raw strings end at their own delimiter.
std::string without_comments(std::string_view code, Literals literals) {
  enum class In { kCode, kLine, kBlock, kString, kChar } in = In::kCode;
  std::string out(code);
  const auto blank = [&](std::size_t at) {
    if (out[at] != '\n') out[at] = ' ';
  };
  const bool blank_literals = literals == Literals::kBlank;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::string_view two = code.substr(i, 2);
    switch (in) {
      case In::kCode:
        if (two == "//" || two == "/*") {
          in = two == "//" ? In::kLine : In::kBlock;
          blank(i);
          blank(++i);
        } else if (two == "R\"") {
          const auto open = code.find('(', i);
          if (open == std::string_view::npos) return out;
          const std::string end = fmt::format("){}\"", code.substr(i + 2, open - i - 2));
          const auto close = std::min(code.find(end, open), code.size() - end.size());
          for (std::size_t k = open + 1; blank_literals && k < close; ++k) blank(k);
          i = close + end.size() - 1;
        } else if (code[i] == '"') {
          in = In::kString;
        } else if (code[i] == '\'' && (i == 0 || std::isalnum(code[i - 1]) == 0)) {
          in = In::kChar;  // after a digit or letter it separates digits: 1'000
        }
        break;
      case In::kLine:
        if (code[i] == '\n') in = In::kCode;
        blank(i);
        break;
      case In::kBlock:
        blank(i);
        if (two == "*/") {
          blank(++i);
          in = In::kCode;
        }
        break;
      case In::kString:
      case In::kChar:
        if (code[i] == '\\') {
          if (blank_literals) blank(i);
          if (++i < code.size() && blank_literals) blank(i);
        } else if (code[i] == (in == In::kString ? '"' : '\'') || code[i] == '\n') {
          in = In::kCode;
        } else if (blank_literals) {
          blank(i);
        }
        break;
    }
  }
  return out;
}

}  // namespace plab::meta
