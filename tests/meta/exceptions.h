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
    {"core/plab/mp/archive.h", "the archive and the traits of what travels refer to each other"},
    {"core/plab/mp/ring.cpp", "the ring's cases are numbered and read together"},
    {"core/plab/shm/registry.cpp",
     "one lock and what it guards, and the order in which it is let go"},
    {"core/plab/shm/segment.cpp", "names, sweep and reference count of segments are one protocol"},
    {"tests/core/mp/process_test.cpp", "one contract for three start methods"},
    {"tests/core/parallel/hogwild_test.cpp", "one contract for three start methods"},
    {"tests/core/shm/block_test.cpp", "the life of a block, from several processes"},
    {"tests/core/shm/reclaim_test.cpp", "every place where a holder can be killed"},
    {"tests/core/shm/sync_test.cpp", "locks, conditions, semaphores and barriers with dead owners"},
    {"tests/core/nn/engine_test.cpp", "one case for each edge of the tape"},
    {"tests/core/tensor/print_cases.h", "a table of what PyTorch prints"},
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
