#pragma once
// SPDX-License-Identifier: Apache-2.0
// Labs built with a sanitizer: a build folder of its own below the build folder, with core and the
// labs that were asked for, and what a sanitizer has found, in few words.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile.h"

namespace plab::lab {

enum class Sanitizer {
  kAddress,  ///< AddressSanitizer and UndefinedBehaviorSanitizer
  kThread,   ///< ThreadSanitizer
};

/// "address" or "thread".
[[nodiscard]] const char* name_of(Sanitizer sanitizer) noexcept;
/// Nothing for another name.
[[nodiscard]] std::optional<Sanitizer> sanitizer_named(const std::string& name);
/// The same sources, and the build folder of that sanitizer.
[[nodiscard]] Context with_sanitizer(const Context& context, Sanitizer sanitizer);
/// Configures that folder when it is not yet, with the compiler of the build folder, and builds the
/// target there. Nothing: it is built.
/// @blocks the first time for some minutes: all of core is compiled
[[nodiscard]] std::optional<BuildProblem> compile_sanitized(const Context& context,
                                                            Sanitizer sanitizer,
                                                            const std::string& target);
/// For a program that was built so: each process writes its reports into `folder`, which must be
/// there. What the variables of the user say is kept, except where.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> sanitizer_environment(
    const std::filesystem::path& folder);

struct SanitizerFinding {
  std::string head;   ///< "heap-use-after-free: READ of size 4"
  std::string where;  ///< "labs/01_processes/lab.cpp:24 in lab01::f(int)"; empty: not known
  std::string text;   ///< of all reports
  int others = 0;     ///< processes that have a report too
};
/// Of one report. Nothing when there is none in it.
/// @param source the root of the project: of a stack the first line in a lab.cpp counts, else the
/// first below the root
[[nodiscard]] std::optional<SanitizerFinding> read_finding(const std::string& report,
                                                           const std::filesystem::path& source);
/// Of a folder of reports: the first one, and all texts.
[[nodiscard]] std::optional<SanitizerFinding> read_findings(const std::filesystem::path& folder,
                                                            const std::filesystem::path& source);

}  // namespace plab::lab
