// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>

#include "exceptions.h"

namespace plab::meta {

namespace {

bool starts(std::string_view text, std::string_view with) { return text.rfind(with, 0) == 0; }
bool ends(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}
bool is_cpp(const Source& source) { return ends(source.path, ".h") || ends(source.path, ".cpp"); }

// Calls on_line(number, line) for each line.
template <class OnLine>
void each_line(const std::string& text, OnLine on_line) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) on_line(++number, line);
}

std::string at(const Source& source, int line, std::string_view problem) {
  return fmt::format("{}:{}: {}", source.path, line, problem);
}

// "core/plab/os/pipe.cpp" -> "os"
std::optional<std::string> layer_of(const std::string& path) {
  static const std::regex pattern("core/plab/([^/]+)/.*");
  std::smatch found;
  if (!std::regex_match(path, found, pattern)) return std::nullopt;
  return found[1];
}

void check_cmake_depends(const Source& source, const std::string& layer, const Layers& layers,
                         Violations& out) {
  static const std::regex list(R"(\bDEPENDS\s+([a-z_\s]+))");
  std::smatch found;
  std::string rest = std::regex_replace(source.text, std::regex("#[^\n]*"), "");
  while (std::regex_search(rest, found, list)) {
    std::istringstream words(found[1].str());
    for (std::string word; words >> word;) {
      const auto lower = layers.find(word);
      if (lower != layers.end() && lower->second >= layers.at(layer)) {
        out.push_back(at(source, 1, fmt::format("layer {} must not depend on {}", layer, word)));
      }
    }
    rest = found.suffix();
  }
}

}  // namespace

Violations check_layers(const Source& source, const Layers& layers) {
  Violations out;
  const auto layer = layer_of(source.path);
  if (!layer) return out;
  const auto own = layers.find(*layer);
  if (own == layers.end()) return {at(source, 1, "this folder is not in core/layers.txt")};
  if (ends(source.path, "CMakeLists.txt")) check_cmake_depends(source, *layer, layers, out);
  if (!is_cpp(source)) return out;
  static const std::regex include(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
  each_line(without_comments(source.text, Literals::kKeep), [&](int number, const auto& line) {
    std::smatch found;
    if (!std::regex_match(line, found, include)) return;
    const std::string path = found[2];
    const bool quoted = found[1] == "\"";
    if (quoted != starts(path, "plab/")) {
      out.push_back(
          at(source, number, "\"plab/layer/file.h\" is the only form of an include of ours"));
      return;
    }
    if (!quoted) return;
    const std::string other = path.substr(5, path.find('/', 5) - 5);
    const auto lower = layers.find(other);
    if (lower == layers.end()) {
      out.push_back(at(source, number, fmt::format("no layer {} in core/layers.txt", other)));
    } else if (lower->second > own->second) {
      out.push_back(at(source, number,
                       fmt::format("layer {} ({}) must not include {} ({})", *layer, own->second,
                                   other, lower->second)));
    }
  });
  return out;
}

Violations check_fences(const Source& source) {
  Violations out;
  if (!is_cpp(source) || !starts(source.path, "core/")) return out;
  const bool os = starts(source.path, "core/plab/os/");
  const bool device = starts(source.path, "core/plab/device/");
  const bool dist =
      starts(source.path, "core/plab/dist/") || starts(source.path, "core/plab/device/sim/");
  static const std::regex header(
      R"(^\s*#\s*include\s*<((sys/(?!types\.h)|linux/|netinet/|arpa/|asm/).*|unistd\.h|fcntl\.h|poll\.h|sched\.h|spawn\.h|dirent\.h|termios\.h)>.*)");
  static const std::regex call(
      R"((^|[^A-Za-z0-9_>:])::(accept|bind|clone|close|connect|dup2?|dup3|exec[a-z]+|_?exit|fcntl|fork|fstat|ftruncate|get[a-z]*[ug]?id|ioctl|kill|listen|lseek|madvise|mmap|mprotect|munmap|open|pipe2?|poll|ppoll|prctl|ptrace|pread|pwrite|read|readlink|recv[a-z]*|sched_[a-z]+|send[a-z]*|shm_[a-z]+|sigaction|socket|socketpair|stat|syscall|unlink|vfork|wait|waitid|waitpid|write)\s*\()");
  static const std::regex cuda(R"(\b(cuda|cublas)[A-Z]\w*)");
  static const std::regex nccl(R"(\bnccl[A-Z]\w*)");
  each_line(without_comments(source.text, Literals::kBlank), [&](int number, const auto& line) {
    const bool excepted = is_excepted(kFenceExceptions, source.path);
    if (!os && !excepted && (std::regex_match(line, header) || std::regex_search(line, call))) {
      out.push_back(at(source, number, "raw system calls belong in core/plab/os: " + line));
    }
    if (!device && std::regex_search(line, cuda)) {
      out.push_back(at(source, number, "CUDA's names belong in core/plab/device: " + line));
    }
    if (!dist && std::regex_search(line, nccl)) {
      out.push_back(at(source, number, "NCCL's names belong in core/plab/dist: " + line));
    }
  });
  return out;
}

Violations check_form(const Source& source) {
  Violations out;
  const bool code = is_cpp(source) || ends(source.path, ".sh") || ends(source.path, ".cmake") ||
                    ends(source.path, "CMakeLists.txt") || ends(source.path, ".py") ||
                    source.path == "lab" || source.path == ".ci/run";
  if (!code) return out;
  const auto lines = std::ranges::count(source.text, '\n');
  if (lines > kLongestFile && !is_excepted(kLengthExceptions, source.path)) {
    out.push_back(at(source, static_cast<int>(lines),
                     fmt::format("{} lines; a file holds at most {}", lines, kLongestFile)));
  }
  if (source.text.substr(0, 200).find("SPDX-License-Identifier: Apache-2.0") == std::string::npos) {
    out.push_back(at(source, 1, "no SPDX line at the top"));
  }
  if (ends(source.path, ".h") && !starts(source.text, "#pragma once")) {
    out.push_back(at(source, 1, "a header starts with #pragma once"));
  }
  if (!source.text.empty() && source.text.back() != '\n') {
    out.push_back(at(source, static_cast<int>(lines) + 1, "the last line has no end"));
  }
  return out;
}

Violations check_holes(const Source& source) {
  Violations out;
  if (!starts(source.path, "core/")) return out;
  static const std::regex hole(R"(\b(TODO|FIXME|XXX|HACK)\b)");
  each_line(source.text, [&](int number, const auto& line) {
    if (std::regex_search(line, hole)) out.push_back(at(source, number, "a hole in core: " + line));
  });
  return out;
}

Violations check_places(const Source& source) {
  Violations out;
  // each pattern is written so that it does not match itself
  static const std::regex place(
      R"((^|[^A-Za-z0-9_.])/(work|root|home|Users)/\w|\b(deb|security|archive|snapshot|ftp|ports)\.(debian|ubuntu)\.(org|com)\b|\bpypi\.org\b|\bpythonhosted\.org\b|\bregistry\.npmjs\.org\b)");
  each_line(source.text, [&](int number, const auto& line) {
    if (std::regex_search(line, place)) {
      out.push_back(at(source, number, "a machine's path or a registry's host: " + line));
    }
  });
  return out;
}

namespace {

// The parts of a lab are built by labs/CMakeLists.txt: the check by the lab's folder, a mutant by
// its name.
Violations check_lab_listed(const Source& source, const std::vector<Source>& tree) {
  const std::filesystem::path path = source.path;
  const bool is_mutant = path.parent_path().filename() == "mutants";
  const std::string name =
      is_mutant ? path.stem().string() : "plab_lab(" + path.parent_path().filename().string();
  const auto found = std::ranges::find(tree, "labs/CMakeLists.txt", &Source::path);
  if (found != tree.end() && found->text.find(name) != std::string::npos) return {};
  return {at(source, 1, "labs/CMakeLists.txt does not name it, so it is never built")};
}

}  // namespace

Violations check_listed(const Source& source, const std::vector<Source>& tree) {
  if (!ends(source.path, ".cpp") || is_excepted(kUnlistedExceptions, source.path)) return {};
  if (!starts(source.path, "core/") && !starts(source.path, "tests/")) return {};
  static const std::regex lab("tests/labs/[0-9][0-9]_.*");
  if (std::regex_match(source.path, lab)) return check_lab_listed(source, tree);
  // the CMakeLists.txt of this folder, or of the nearest one above
  std::filesystem::path folder = source.path;
  while (folder.has_parent_path()) {
    folder = folder.parent_path();
    const std::string lists = (folder / "CMakeLists.txt").generic_string();
    const auto found = std::ranges::find(tree, lists, &Source::path);
    if (found == tree.end()) continue;
    const std::string name = std::filesystem::path(source.path).lexically_relative(folder).string();
    if (found->text.find(name) != std::string::npos) return {};
    return {at(source, 1, fmt::format("{} does not name it, so it is never built", lists))};
  }
  return {at(source, 1, "no CMakeLists.txt builds it")};
}

Violations check_own_header_first(const Source& source, const std::vector<Source>& tree) {
  if (!ends(source.path, ".cpp") || !starts(source.path, "core/plab/")) return {};
  const std::string header = source.path.substr(0, source.path.size() - 4) + ".h";
  if (std::ranges::find(tree, header, &Source::path) == tree.end()) return {};
  static const std::regex include(R"(^#include ([<"][^>"]+[>"]).*)");
  Violations out;
  bool first = true;
  each_line(source.text, [&](int number, const auto& line) {
    std::smatch found;
    if (!first || !std::regex_match(line, found, include)) return;
    first = false;
    const std::string wanted = fmt::format("\"{}\"", header.substr(5));
    if (found[1] != wanted) out.push_back(at(source, number, "the first include is " + wanted));
  });
  return out;
}

}  // namespace plab::meta
