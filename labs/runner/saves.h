#pragma once
// SPDX-License-Identifier: Apache-2.0
// Waiting until a file is saved.

#include <filesystem>
#include <optional>

#include "plab/os/unique_fd.h"

namespace plab::lab {

/// How a save is noticed.
enum class Notice {
  kKernel,  ///< inotify: at once, and no work meanwhile
  kPoll,    ///< the file's time, four times a second: also over a network and into a container
};

enum class Woken { kSaved, kEnter, kInterrupted };

/// Notices when one file is saved, from the moment it is made: a save between two waits is not
/// missed. Editors that write a new file and rename it over the old one are understood.
class Saves {
 public:
  /// kKernel falls back to kPoll where inotify cannot be had (out of watches, no such call).
  Saves(std::filesystem::path file, Notice notice);

  /// What it came to.
  [[nodiscard]] Notice notice() const noexcept { return events_ ? Notice::kKernel : Notice::kPoll; }
  /// @param keys  a descriptor whose next line wakes as well, or -1
  /// @blocks until a save, a line on `keys`, SIGINT or SIGTERM
  [[nodiscard]] Woken wait(int keys);

 private:
  using Time = std::filesystem::file_time_type;
  /// Nothing while the file is not there.
  [[nodiscard]] std::optional<Time> time() const;
  /// Takes all notices that there are: whether one was of this file.
  [[nodiscard]] bool told() const noexcept;
  /// Whether it was saved since the last answer.
  [[nodiscard]] bool saved();

  std::filesystem::path file_;
  os::UniqueFd events_;        // the folder's, not the file's: a renamed file is another one
  std::optional<Time> known_;  // for polling
};

}  // namespace plab::lab
