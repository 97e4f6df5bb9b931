#pragma once
// SPDX-License-Identifier: Apache-2.0
// One line of log per call, to standard error. A line is written by one write(2) and needs no lock,
// so a forked child can log although another thread of its parent was logging when it was copied
// (Note: fork and locks).

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace plab::log {

/// debug and info are for who develops plab; warning: the program goes on, but its user should
/// know; error: something that was asked for did not happen.
enum class Level { kDebug, kInfo, kWarning, kError, kOff };

/// Whether a line of this level is written (PLAB_LOG, read once).
[[nodiscard]] bool enabled(Level level) noexcept;

/// Writes "plab W 4711/4712 text\n" (level, pid/tid). Never throws; a line over 4,000 bytes is cut.
void write(Level level, std::string_view text) noexcept;

template <typename... Args>
void emit(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  emit(Level::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  emit(Level::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  emit(Level::kWarning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  emit(Level::kError, format, std::forward<Args>(args)...);
}

}  // namespace plab::log
