// SPDX-License-Identifier: Apache-2.0
#include "plab/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include "plab/base/early.h"

namespace plab::log {

namespace {

constexpr std::size_t kLongest = 4000;

// The log is the one place outside `os` with a system call: base knows no layer below itself, and a
// line must leave by one write(2), without the lock that stdio would take.
Level threshold() noexcept {
  static const Level level = [] {
    const char* text = std::getenv("PLAB_LOG");
    const std::string_view name = text == nullptr ? "" : text;
    if (name == "debug") return Level::kDebug;
    if (name == "info") return Level::kInfo;
    if (name == "error") return Level::kError;
    if (name == "off") return Level::kOff;
    return Level::kWarning;
  }();
  return level;
}

const Early g_early_log([] { (void)threshold(); });

}  // namespace

bool enabled(Level level) noexcept { return level != Level::kOff && level >= threshold(); }

void write(Level level, std::string_view text) noexcept {
  if (!enabled(level)) return;
  std::array<char, kLongest + 64> line;
  constexpr std::string_view kLetters = "DIWE";
  const auto head = fmt::format_to_n(line.data(), 60, "plab {} {}/{} ",
                                     kLetters[static_cast<std::size_t>(level)], getpid(), gettid());
  const std::size_t body = std::min(text.size(), kLongest);
  std::memcpy(head.out, text.data(), body);
  char* end = head.out + body;
  *end++ = '\n';
  const char* at = line.data();
  while (at < end) {
    const ssize_t n = ::write(STDERR_FILENO, at, static_cast<std::size_t>(end - at));
    if (n > 0) at += n;
    if (n < 0 && errno != EINTR) return;
  }
}

}  // namespace plab::log
