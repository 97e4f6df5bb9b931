// SPDX-License-Identifier: Apache-2.0
// Rules about Markdown: links that lead somewhere, an example that is the tested one.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

#include "rules.h"

namespace plab::meta {

namespace {

// "## The layers of core" -> "the-layers-of-core", as GitHub does it
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || byte >= 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

bool has_heading(const std::string& text, const std::string& anchor) {
  static const std::regex heading(R"(^#+ +(.*?)( *\{#([\w-]+)\})?\s*$)");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, heading)) continue;
    if (anchor_of(found[1]) == anchor || found[3] == anchor) return true;
  }
  return false;
}

bool leads_somewhere(const Source& source, const std::string& link,
                     const std::vector<Source>& tree) {
  const auto hash = link.find('#');
  const std::string anchor = hash == std::string::npos ? "" : link.substr(hash + 1);
  const std::filesystem::path folder = std::filesystem::path(source.path).parent_path();
  std::string target = (folder / link.substr(0, hash)).lexically_normal().generic_string();
  if (hash == 0) target = source.path;
  const auto file = std::ranges::find(tree, target, &Source::path);
  if (file != tree.end()) return anchor.empty() || has_heading(file->text, anchor);
  if (!target.empty() && target.back() == '/') target.pop_back();
  const auto inside = [&](const Source& other) { return other.path.rfind(target + "/", 0) == 0; };
  return anchor.empty() && std::ranges::any_of(tree, inside);  // a folder
}

// The first block that starts with ```cpp.
std::string first_cpp_block(const std::string& text) {
  const std::string open = "```cpp\n";
  const auto begin = text.find(open);
  if (begin == std::string::npos) return {};
  const auto end = text.find("```", begin + open.size());
  return end == std::string::npos ? std::string{}
                                  : text.substr(begin + open.size(), end - begin - open.size());
}

}  // namespace

Violations check_links(const Source& source, const std::vector<Source>& tree) {
  Violations out;
  if (!source.path.ends_with(".md")) return out;
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  for (std::sregex_iterator it(source.text.begin(), source.text.end(), link), end; it != end;
       ++it) {
    const std::string target = (*it)[1];
    if (target.find("://") != std::string::npos || target.rfind("mailto:", 0) == 0) continue;
    if (!leads_somewhere(source, target, tree)) {
      const auto line = std::count(source.text.begin(), source.text.begin() + it->position(), '\n');
      out.push_back(fmt::format("{}:{}: the link {} leads nowhere", source.path, line + 1, target));
    }
  }
  return out;
}

Violations check_readme_example(const Source& readme, const Source& example) {
  const std::string shown = first_cpp_block(readme.text);
  if (shown.empty()) return {readme.path + ": no ```cpp block"};
  // not shown: what stands above the first include, and the marks for \snippet
  const std::string text = std::regex_replace(example.text, std::regex("//! \\[[a-z]+\\]\n"), "");
  const auto begin = text.find("#include");
  if (begin == std::string::npos || text.substr(begin) != shown) {
    return {fmt::format("{}: its first ```cpp block is not {} from the first include on",
                        readme.path, example.path)};
  }
  return {};
}

}  // namespace plab::meta
