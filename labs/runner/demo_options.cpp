// SPDX-License-Identifier: Apache-2.0
#include "demo_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <system_error>

#include "plab/os/proc.h"

namespace plab::lab {

namespace fs = std::filesystem;

namespace {

constexpr int kMostProcesses = 256;

// --start-method as CLI11 checks it
const std::vector<std::string> kMethods{"fork", "spawn", "forkserver"};

// Whether a new file can be made in the folder; tries it, since permissions tell half of it.
std::optional<std::string> try_to_write(const fs::path& folder) {
  const fs::path probe = folder / ".plab-write-test";
  {
    std::ofstream file(probe);
    file << "x";
    file.flush();
    if (!file) {
      return fmt::format("nothing can be written into {}: {}", folder.string(),
                         std::error_code(errno, std::generic_category()).message());
    }
  }
  std::error_code ignored;
  fs::remove(probe, ignored);
  return std::nullopt;
}

void add_options(CLI::App& app, DemoOptions& options, std::string& method) {
  app.add_option("--processes", options.processes,
                 fmt::format("worker processes, 1 to {}", kMostProcesses))
      ->check(CLI::Range(1, kMostProcesses))
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "passes over the training data, 1 to 100000")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "samples in a step, 1 to 65536")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  app.add_option("--lr", options.lr, "learning rate, above 0 and up to 100")
      ->check(CLI::Range(1e-12, 100.0))
      ->capture_default_str();
  app.add_option("--hidden", options.hidden, "width of the hidden layer, 1 to 16384")
      ->check(CLI::Range(1, 16'384))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the first weights and of the order of samples")
      ->check([](const std::string& text) {  // CLI11 would take -5 for a very large number
        return text.starts_with('-') ? "Value " + text + " is negative; give 0 or more" : "";
      })
      ->capture_default_str();
  app.add_option("--start-method", method, "how processes start: fork, spawn or forkserver")
      ->check(CLI::IsMember(kMethods))
      ->capture_default_str();
  app.add_option("--data", options.data,
                 "CSV, or IDX samples and labels (two files, or one whose name has \"images\"); "
                 "gzip too; default: the digits of labs/data")
      ->expected(1, 2);
  app.add_option(
      "--label", options.label,
      "the label's column in the CSV: its name, or its number from 0; default: the last");
  app.add_option("--out", options.out, "folder for the results, below the current one")
      ->capture_default_str();
  app.add_option("--json", options.json, "file for the figures as JSON");
  app.add_flag_callback(
      "--quiet", [&options] { options.verbosity = Verbosity::kQuiet; }, "print only the last line");
}

}  // namespace

ParsedDemo parse_demo_options(const Context& context, const Arguments& arguments) {
  ParsedDemo parsed;
  DemoOptions& options = parsed.options;
  options.processes = std::clamp(os::usable_cores(), 2, kMostProcesses);
  std::string method(mp::name_of(mp::StartMethod::kFork));
  CLI::App app("N processes train one shared network without locks (Hogwild), on real data",
               "lab demo");
  add_options(app, options, method);
  parsed.exit_code = parse_options(app, arguments);
  if (parsed.exit_code) return parsed;
  options.start_method = mp::parse_start_method(method);
  if (!std::isfinite(options.lr)) {
    fmt::print(stderr, "lab demo: --lr: {} is no number above 0 and up to 100\n", options.lr);
    parsed.exit_code = kExitUsage;
  }
  if (options.data.empty()) options.data = {context.source / "labs" / "data" / "digits.csv"};
  return parsed;
}

std::optional<std::string> check_outputs(const DemoOptions& options) {
  std::error_code problem;
  fs::create_directories(options.out, problem);
  if (problem) {
    return fmt::format("--out: cannot make the folder {}: {}", options.out.string(),
                       problem.message());
  }
  if (!fs::is_directory(options.out, problem)) {
    return fmt::format("--out: {} is not a folder", options.out.string());
  }
  if (auto wrong = try_to_write(options.out)) return "--out: " + *wrong;
  if (!options.json) return std::nullopt;
  if (fs::is_directory(*options.json, problem)) {
    return fmt::format("--json: {} is a folder; give a file", options.json->string());
  }
  const fs::path folder = options.json->parent_path();
  if (auto wrong = try_to_write(folder.empty() ? fs::path(".") : folder))
    return "--json: " + *wrong;
  return std::nullopt;
}

}  // namespace plab::lab
