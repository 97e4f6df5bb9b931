// SPDX-License-Identifier: Apache-2.0
#include "compile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/process.h"

namespace plab::lab {

namespace {

constexpr std::ptrdiff_t kMostLines = 10;

bool has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

/// "x.cpp:3:1: error: ...", "x.cpp:(.text+0x4): undefined reference ...", "CMake Error ...". Not
/// what the linker's driver says afterwards.
bool begins_error(std::string_view line) {
  constexpr std::array<std::string_view, 5> kMarks{" error: ", " undefined reference to",
                                                   " multiple definition of", "CMake Error",
                                                   "ninja: error: "};
  return !line.starts_with("collect2:") &&
         std::ranges::any_of(kMarks, [&](std::string_view mark) { return has(line, mark); });
}

/// Lines of the build itself, which say nothing about the error.
bool is_build_noise(std::string_view line) {
  return line.starts_with("ninja: ") || line.starts_with("FAILED: ") ||
         line.starts_with("collect2:") || line.starts_with("[") ||
         has(line, "compilation terminated");
}

/// What goes on after an error: its source line, its notes.
bool ends_error(std::string_view line) {
  return is_build_noise(line) || begins_error(line) || has(line, " warning: ") ||
         has(line, ": In function ") || has(line, ": In member function ");
}

}  // namespace

BuildProblem first_error(const std::string& printed) {
  BuildProblem problem;
  std::istringstream lines(printed);
  std::string last;
  bool within = false;
  for (std::string line; std::getline(lines, line);) {
    // The file of the first edge that failed: ninja prints it before what the compiler said.
    if (problem.error.empty() && line.starts_with("FAILED: ")) {
      problem.whose = has(line, "lab.cpp.o") || has(line, "labs/lab_")
                          ? BuildProblem::Whose::kLearner
                          : BuildProblem::Whose::kTool;
    }
    if (!line.empty() && !line.starts_with("ninja: build stopped")) last = line + "\n";
    if (!within && problem.error.empty() && begins_error(line)) {
      within = true;
    } else if (within && ends_error(line)) {
      within = false;
    }
    if (within && std::ranges::count(problem.error, '\n') < kMostLines)
      problem.error += line + "\n";
  }
  if (problem.error.empty()) problem.error = last.empty() ? "the build printed nothing\n" : last;
  return problem;
}

bool can_build(const Context& context) {
  return std::filesystem::exists(context.build / "CMakeCache.txt") &&
         std::filesystem::exists(context.build / "build.ninja");
}

bool run_logged(std::vector<std::string> argv, const std::filesystem::path& log,
                const std::vector<std::string>& extra) {
  const os::UniqueFd file(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) throw SystemError("[lab] the log " + log.string(), errno);
  argv.insert(argv.begin(), "env");
  std::vector<std::string> variables = os::environment();
  variables.insert(variables.end(), extra.begin(), extra.end());
  os::Process process = os::spawn_process(
      "/usr/bin/env", {.argv = std::move(argv),
                       .env = std::move(variables),
                       .descriptors = {{file.get(), STDOUT_FILENO}, {file.get(), STDERR_FILENO}},
                       .new_group = os::NewGroup::kNo});
  return process.wait(Deadline::never())->success();
}

std::optional<BuildProblem> compile(const Context& context, const std::string& target) {
  const std::filesystem::path log = context.build / ".lab" / (target + ".log");
  std::filesystem::create_directories(log.parent_path());
  std::vector<std::string> extra;
  if (std::getenv("CCACHE_SLOPPINESS") == nullptr)
    extra.emplace_back("CCACHE_SLOPPINESS=pch_defines,time_macros");
  if (run_logged({"cmake", "--build", context.build.string(), "--target", target}, log, extra)) {
    return std::nullopt;
  }
  BuildProblem problem = first_error(os::read_file(log));
  problem.log = log;
  return problem;
}

}  // namespace plab::lab
