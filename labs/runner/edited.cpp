// SPDX-License-Identifier: Apache-2.0
#include "edited.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "plab/os/file.h"
#include "plab/os/pipe.h"
#include "plab/os/process.h"
#include "progress.h"

namespace plab::lab {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Folders and files, relative to the root, that a check's result depends on besides lab.cpp.
std::vector<std::string> places(const Lab& lab) {
  return {"core", "labs/support", "labs/" + lab.folder + "/lab.hpp",
          "labs/" + lab.folder + "/lab.toml", "tests/labs/" + lab.folder};
}

/// What git says, or nothing when this is no clone.
std::optional<std::string> ask_git(const fs::path& source, const std::vector<std::string>& paths) {
  if (!fs::exists(source / ".git")) return std::nullopt;
  os::Pipe pipe = os::create_pipe();
  os::SpawnOptions options;
  // Paths are told as they are written, and relative to the project also inside a larger clone.
  options.argv = {
      "env",  "git",         "-C",         source.string(), "-c", "core.quotePath=false",
      "diff", "--name-only", "--relative", "HEAD",          "--"};
  options.argv.insert(options.argv.end(), paths.begin(), paths.end());
  options.env = os::environment();
  options.descriptors = {{pipe.write.get(), STDOUT_FILENO}};
  const os::UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  options.descriptors.emplace_back(nowhere.get(), STDERR_FILENO);
  os::Process git = os::spawn_process("/usr/bin/env", options);
  pipe.write.reset();
  std::string said;
  std::array<char, 4096> part{};
  while (const auto count = os::read_some(pipe.read.get(), std::as_writable_bytes(std::span(part)),
                                          Deadline::never())) {
    if (*count == 0) break;
    said.append(part.data(), *count);
  }
  if (!git.wait(Deadline::never())->success()) return std::nullopt;
  return said;
}

std::string digest(const fs::path& file) {
  return fmt::format("{:016x}", hash_text(os::read_file(file)));
}

json digests(const fs::path& source, const std::vector<std::string>& paths) {
  json all = json::object();
  for (const std::string& path : paths) {
    if (fs::is_regular_file(source / path)) all[path] = digest(source / path);
    if (!fs::is_directory(source / path)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(source / path)) {
      if (!entry.is_regular_file()) continue;
      all[fs::relative(entry.path(), source).string()] = digest(entry.path());
    }
  }
  return all;
}

std::vector<std::string> compare_with_first(const Context& context, const Lab& lab) {
  const fs::path kept = context.build / ".lab" / ("as_it_came_" + lab.folder + ".json");
  const json now = digests(context.source, places(lab));
  json first;
  try {
    first = json::parse(os::read_file(kept));
  } catch (const std::exception&) {  // never asked before
    fs::create_directories(kept.parent_path());
    os::write_file(kept, now.dump());
    return {};
  }
  std::vector<std::string> edited;
  for (const auto& [path, sum] : now.items()) {
    if (first.value(path, "") != sum.get<std::string>()) edited.push_back(path);
  }
  for (const auto& [path, sum] : first.items()) {
    if (!now.contains(path)) edited.push_back(path);
  }
  return edited;
}

}  // namespace

std::vector<std::string> edited_files(const Context& context, const Lab& lab) {
  const auto said = ask_git(context.source, places(lab));
  if (!said) return compare_with_first(context, lab);
  std::vector<std::string> edited;
  std::istringstream lines(*said);
  for (std::string line; std::getline(lines, line);) edited.push_back(line);
  return edited;
}

void look_for_edits(const Context& context, const Lab& lab, CheckResult& result) {
  if (result.exit_code != kExitPassed) return;
  const std::vector<std::string> edited = edited_files(context, lab);
  if (edited.empty()) return;
  result.exit_code = kExitCheckFailed;
  result.code = "LAB-EDITED";
  result.seen = "all that is checked holds, but these are not as they came:\n" + some_of(edited);
}

}  // namespace plab::lab
