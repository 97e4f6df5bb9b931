// SPDX-License-Identifier: Apache-2.0
#include "sanitize.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

#include "plab/os/file.h"
#include "plab/os/process.h"

namespace plab::lab {

namespace {

constexpr std::string_view kPrefix = "report";

/// A value of CMakeCache.txt; empty when it has none.
std::string cached(const Context& context, const std::string& name) {
  std::istringstream lines(os::read_file(context.build / "CMakeCache.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":")) return line.substr(line.find('=') + 1);
  }
  return {};
}

/// Nothing: it is configured.
std::optional<BuildProblem> configure(const Context& context, Sanitizer sanitizer) {
  const Context own = with_sanitizer(context, sanitizer);
  if (can_build(own)) return std::nullopt;
  std::filesystem::create_directories(own.build / ".lab");
  const auto log = own.build / ".lab" / "configure.log";
  fmt::print(stderr,
             "lab: building plab with the {} sanitizer in {} (the first time takes a few "
             "minutes)\n",
             name_of(sanitizer), own.build.string());
  if (run_logged(
          {"cmake", "--preset", sanitizer == Sanitizer::kAddress ? "dev" : "tsan", "-S",
           own.source.string(), "-B", own.build.string(), "-DPLAB_BUILD_TESTS=OFF",
           "-DPLAB_WERROR=OFF", "-DCMAKE_CXX_COMPILER=" + cached(context, "CMAKE_CXX_COMPILER"),
           "-DCMAKE_CXX_COMPILER_LAUNCHER=" + cached(context, "CMAKE_CXX_COMPILER_LAUNCHER")},
          log)) {
    return std::nullopt;
  }
  BuildProblem problem = first_error(os::read_file(log));
  problem.whose = BuildProblem::Whose::kTool;
  problem.log = log;
  return problem;
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

/// "heap-use-after-free on address 0x...", "data race (pid=1)": without what differs from run to
/// run.
std::string kind_of(const std::string& line, std::string_view sanitizer) {
  const std::string rest = line.substr(line.find(sanitizer) + sanitizer.size());
  return trimmed(rest.substr(0, std::min(rest.find(" on "), rest.find(" (pid="))));
}

/// Of a line of a stack "    #1 0x55d in lab01::f(int) /p/lab.cpp:24": the function and the place;
/// ThreadSanitizer has no address in it, and "(program+0x4)" behind it.
struct Frame {
  std::string function, place;
};
std::optional<Frame> frame_of(const std::string& line) {
  const std::string text = trimmed(line);
  if (!text.starts_with("#")) return std::nullopt;
  auto from = text.find(' ') + 1;
  const auto in = text.find(" in ");
  if (text.compare(from, 2, "0x") == 0) {
    if (in == std::string::npos) return std::nullopt;
    from = in + 4;
  }
  auto slash = text.find(" /", from);
  if (slash == std::string::npos) return std::nullopt;
  std::string place = text.substr(slash + 1);
  if (const auto module = place.find(" ("); module != std::string::npos) place.resize(module);
  return Frame{text.substr(from, slash - from), place};
}

bool is_labs(const std::string& place) {
  return place.find("/lab.cpp:") != std::string::npos ||
         place.find("/mutants/") != std::string::npos;
}

/// Paths as the learner knows them.
std::string below(const std::string& place, const std::filesystem::path& source) {
  const std::string root = source.string() + "/";
  return place.starts_with(root) ? place.substr(root.size()) : place;
}

/// Of the frames that follow, this line's first: the one that says most.
std::string where_of(std::string line, std::istringstream& lines,
                     const std::filesystem::path& source) {
  std::string own;
  do {
    const auto frame = frame_of(line);
    if (!frame) continue;
    std::string text = fmt::format("{} in {}", below(frame->place, source), frame->function);
    if (is_labs(frame->place)) return text;
    if (own.empty() && frame->place.starts_with(source.string() + "/")) own = text;
  } while (std::getline(lines, line));
  return own;
}

/// "READ of size 4 at 0x...", "==7==The signal is caused by ...": without numbers that differ.
std::string detail_of(const std::string& line) {
  std::string text = trimmed(line.substr(0, line.find(" at 0x")));
  if (text.starts_with("==")) text = text.substr(text.find("==", 2) + 2);
  return text.starts_with("#") ? "" : text;
}

}  // namespace

const char* name_of(Sanitizer sanitizer) noexcept {
  return sanitizer == Sanitizer::kAddress ? "address" : "thread";
}

std::optional<Sanitizer> sanitizer_named(const std::string& name) {
  if (name == "address") return Sanitizer::kAddress;
  if (name == "thread") return Sanitizer::kThread;
  return std::nullopt;
}

Context with_sanitizer(const Context& context, Sanitizer sanitizer) {
  return {context.source, context.build / (std::string("sanitize-") + name_of(sanitizer))};
}

std::optional<BuildProblem> compile_sanitized(const Context& context, Sanitizer sanitizer,
                                              const std::string& target) {
  if (auto problem = configure(context, sanitizer)) return problem;
  return compile(with_sanitizer(context, sanitizer), target);
}

std::vector<std::pair<std::string, std::string>> sanitizer_environment(
    const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const std::string name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* const given = std::getenv(name.c_str());
    std::string value = given == nullptr ? "" : std::string(given) + ":";
    value += "log_path=" + (folder / kPrefix).string();
    if (name == "UBSAN_OPTIONS") value += ":print_stacktrace=1";
    variables.emplace_back(name, value);
  }
  return variables;
}

std::optional<SanitizerFinding> read_finding(const std::string& report,
                                             const std::filesystem::path& source) {
  SanitizerFinding finding;
  std::istringstream lines(report);
  std::string line;
  while (finding.head.empty() && std::getline(lines, line)) {
    for (const char* const sanitizer :
         {"AddressSanitizer: ", "LeakSanitizer: ", "ThreadSanitizer: "}) {
      if (!finding.head.empty() || line.find(sanitizer) == std::string::npos) continue;
      finding.head = kind_of(line, sanitizer);
      // The next line that says something is about the access.
      while (std::getline(lines, line) && trimmed(line).empty()) {
      }
      if (const std::string detail = detail_of(line); !detail.empty()) {
        finding.head += ": " + detail;
      }
    }
    const auto error = line.find(": runtime error: ");
    if (finding.head.empty() && error != std::string::npos) {
      finding.head = line.substr(error + 17);
      finding.where = below(line.substr(0, error), source);
    }
  }
  if (finding.head.empty()) return std::nullopt;
  if (finding.where.empty()) finding.where = where_of(line, lines, source);
  finding.text = report;
  return finding;
}

std::optional<SanitizerFinding> read_findings(const std::filesystem::path& folder,
                                              const std::filesystem::path& source) {
  std::optional<SanitizerFinding> first;
  for (const std::string& name : os::list_folder(folder, kPrefix)) {
    auto one = read_finding(os::read_file(folder / name, 1U << 24U), source);
    if (!one) continue;
    if (!first) {
      first = std::move(one);
      continue;
    }
    first->text += "\n" + one->text;
    ++first->others;
  }
  return first;
}

}  // namespace plab::lab
