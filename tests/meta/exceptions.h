#pragma once
// SPDX-License-Identifier: Apache-2.0
// Where a rule does not hold, and why. An entry without a file is a violation itself.

#include <algorithm>
#include <span>
#include <string_view>

namespace plab::meta {

struct Exception {
  std::string_view path;
  std::string_view reason;
};

inline constexpr int kLongestFile = 300;

/// Raw system calls outside core/plab/os.
inline constexpr Exception kFenceExceptions[] = {
    {"core/plab/base/log.cpp", "a log line is one write(2), below os, so that lines do not mix"},
    {"core/plab/base/deadline.cpp", "reads the monotonic clock, which os itself stands on"},
};

/// Files over 300 lines, never over 600.
inline constexpr Exception kLengthExceptions[] = {
    {"labs/runner/setup.sh", "one subject: what is missing and how it is installed"},
};

/// Sources that no CMakeLists.txt of their own tree builds.
inline constexpr Exception kUnlistedExceptions[] = {
    {"tests/support/main.cpp", "core/cmake/PlabTargets.cmake adds it to every test"},
    {"tests/support/main_mp.cpp",
     "core/cmake/PlabTargets.cmake adds it to the tests of mp and above"},
};

[[nodiscard]] constexpr bool is_excepted(std::span<const Exception> list, std::string_view path) {
  return std::ranges::find(list, path, &Exception::path) != list.end();
}

}  // namespace plab::meta
