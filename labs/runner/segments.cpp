// SPDX-License-Identifier: Apache-2.0
#include "segments.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "plab/os/file.h"
#include "plab/shm/segment.h"

namespace plab::lab {

namespace {

namespace fs = std::filesystem;

const fs::path kFolder = "/dev/shm";

std::set<std::string> names() {
  const auto all = os::list_folder(kFolder, "");
  return {all.begin(), all.end()};
}

bool is_mine(const fs::path& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && about.st_uid == ::geteuid();
}

/// True when the process has it mapped or open. False for one that is gone, or that this user may
/// not look into: it is of another user, and then so are its segments.
bool holds(const fs::path& process, const std::string& path) {
  try {
    if (os::read_file(process / "maps").find(" " + path + "\n") != std::string::npos) return true;
    for (const std::string& number : os::list_folder(process / "fd", "")) {
      std::error_code gone;
      if (fs::read_symlink(process / "fd" / number, gone) == path) return true;
    }
  } catch (const std::exception&) {
    return false;
  }
  return false;
}

/// The process that a name of a lab's says it is of: its first part that is a number. 0: none.
int owner_named_in(const std::string& name) {
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '-');) {
    int number = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (problem == std::errc() && end == part.data() + part.size()) return number;
  }
  return 0;
}

/// A name of plab's or of its labs that none of these processes made: it says by which.
bool is_foreign(const std::string& name, const std::set<int>& members) {
  if (name.starts_with("plab-")) return !members.contains(owner_named_in(name));
  if (!name.starts_with("plab_")) return false;
  shm::SegmentName maker;
  return !shm::SegmentName::parse("/" + name, maker) ||
         !members.contains(static_cast<int>(maker.pid));
}

bool is_held(const std::string& path) {
  const auto pids = os::list_folder("/proc", "");
  return std::ranges::any_of(pids, [&](const std::string& pid) {
    return std::isdigit(static_cast<unsigned char>(pid.front())) != 0 &&
           holds(fs::path("/proc") / pid, path);
  });
}

std::string in_words(const std::string& name, std::uintmax_t bytes) {
  if (name.starts_with("sem.")) return "POSIX semaphore /" + name.substr(4);
  shm::SegmentName maker;
  const std::string whose = name.starts_with("plab_") && shm::SegmentName::parse("/" + name, maker)
                                ? fmt::format(", made by process {}", maker.pid)
                                : "";
  return fmt::format("{} ({} bytes){}", (kFolder / name).string(), bytes, whose);
}

}  // namespace

SegmentAudit::SegmentAudit() : before_(names()) {}

std::vector<std::string> SegmentAudit::remove_left(const std::set<int>& members) const {
  std::vector<std::string> left;
  for (const std::string& name : names()) {
    const fs::path path = kFolder / name;
    if (before_.contains(name) || !is_mine(path) || is_foreign(name, members) ||
        is_held(path.string()))
      continue;
    std::error_code problem;
    const auto bytes = fs::file_size(path, problem);
    left.push_back(in_words(name, problem ? 0 : bytes));
    fs::remove(path, problem);
  }
  return left;
}

}  // namespace plab::lab
