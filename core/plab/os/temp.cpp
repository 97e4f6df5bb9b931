// SPDX-License-Identifier: Apache-2.0
#include "plab/os/temp.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "plab/base/log.h"
#include "plab/os/syscall.h"

namespace plab::os {

TempFolder::TempFolder(std::string_view prefix, std::source_location where) : owner_(::getpid()) {
  std::error_code problem;
  const auto parent = std::filesystem::temp_directory_path(problem);
  if (problem) throw SystemError("[os.temp] no folder for temporary files", problem.value(), where);
  std::string pattern = (parent / (std::string(prefix) + "XXXXXX")).native();
  if (::mkdtemp(pattern.data()) == nullptr) fail("[os.temp] mkdtemp(" + pattern + ")", where);
  path_ = pattern;
}

TempFolder::TempFolder(TempFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), owner_(other.owner_) {}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(owner_, other.owner_);
  return *this;
}

void TempFolder::reset() noexcept {
  const auto path = std::exchange(path_, {});
  if (path.empty() || owner_ != ::getpid()) return;
  std::error_code problem;
  std::filesystem::remove_all(path, problem);
  if (problem) log::warning("[os.temp] remove {}: {}", path.native(), problem.message());
}

}  // namespace plab::os
