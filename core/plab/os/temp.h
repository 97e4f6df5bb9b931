#pragma once
// SPDX-License-Identifier: Apache-2.0
// A folder that goes when its owner goes.

#include <filesystem>
#include <source_location>
#include <string_view>

#include <sys/types.h>

namespace plab::os {

/// A new folder under $TMPDIR (or /tmp), mode 0700, removed with all that is in it.
/// @fork the child's copy removes nothing: only the process that made it does
class TempFolder {
 public:
  /// @throws SystemError when it cannot be made
  explicit TempFolder(std::string_view prefix = "plab-",
                      std::source_location where = std::source_location::current());
  TempFolder(TempFolder&& other) noexcept;
  TempFolder& operator=(TempFolder&& other) noexcept;
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { reset(); }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Removes it now; trouble is logged.
  void reset() noexcept;

 private:
  std::filesystem::path path_;
  pid_t owner_ = 0;
};

}  // namespace plab::os
