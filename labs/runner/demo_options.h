#pragma once
// SPDX-License-Identifier: Apache-2.0
// What `lab demo` was asked for.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plab/mp/context.h"
#include "verb.h"

namespace plab::lab {

enum class Verbosity { kNormal, kQuiet };

struct DemoOptions {
  int processes = 2;
  int epochs = 200;
  int batch = 32;
  int hidden = 128;
  double lr = 0.2;
  std::uint64_t seed = 1;
  mp::StartMethod start_method = mp::StartMethod::kFork;
  std::vector<std::filesystem::path> data{};  ///< one CSV, one IDX file of samples, or an IDX pair
  std::string label{};                        ///< of the CSV: a name or a number; empty: the last
  std::filesystem::path out = "out/demo";     ///< below the current folder
  std::optional<std::filesystem::path> json{};
  Verbosity verbosity = Verbosity::kNormal;
};

/// Parses the words after `lab demo`. Wrong ones are explained on standard error with what is
/// valid.
/// @return the options, or the exit code to leave with (0 after --help, 64)
struct ParsedDemo {
  DemoOptions options{};
  std::optional<int> exit_code{};
};
[[nodiscard]] ParsedDemo parse_demo_options(const Context& context, const Arguments& arguments);

/// Makes the folder of --out and looks whether it and the folder of --json can be written.
/// @return what is wrong, or nothing
[[nodiscard]] std::optional<std::string> check_outputs(const DemoOptions& options);

}  // namespace plab::lab
