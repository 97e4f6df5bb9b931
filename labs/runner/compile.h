#pragma once
// SPDX-License-Identifier: Apache-2.0
// Builds one target of a build folder and, when that fails, picks out what a learner needs of what
// the build printed: the first error and whose file it is in.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "verb.h"

namespace plab::lab {

struct BuildProblem {
  enum class Whose {
    kLearner,  ///< a file named lab.cpp, or a header by way of it, or linking it
    kTool,     ///< another file of plab, or the build did not come to compile anything
  };
  Whose whose = Whose::kTool;
  std::string error;  ///< the first one with the lines that belong to it; never empty
  std::filesystem::path log;
};

/// Runs a command with its output in a file: no shell, so any path may stand in it. True: exit 0.
/// @param extra "NAME=value" beside this process's environment
/// @blocks until it ends @throws SystemError when the file cannot be written
[[nodiscard]] bool run_logged(std::vector<std::string> argv, const std::filesystem::path& log,
                              const std::vector<std::string>& extra = {});
/// Builds a target. Nothing: it is built.
/// @blocks as long as the compiler takes
[[nodiscard]] std::optional<BuildProblem> compile(const Context& context,
                                                  const std::string& target);
/// What a build printed, looked through. The log's path is left empty.
[[nodiscard]] BuildProblem first_error(const std::string& printed);
/// True when the build folder can build: it is there and CMake has configured it.
[[nodiscard]] bool can_build(const Context& context);

}  // namespace plab::lab
