#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 06: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <chrono>
#include <optional>
#include <string>

namespace lab06 {

/// How long a rank may go on after SIGTERM before it gets SIGKILL.
inline constexpr std::chrono::milliseconds kGrace{200};

/// The first failure of a launch.
struct Failure {
  int rank = 0;
  /// The whole what() of the exception that left work; "SIGKILL" and the like when a signal ended
  /// the rank; "exit code 3" when it exited by itself without an exception.
  std::string what;
};

/// Runs work(rank) in `count` processes made by os::fork_process, all at the same time, as
/// torch.multiprocessing.spawn does. Nothing when all ended well. As soon as one fails, whichever
/// it is, the others are ended: SIGTERM, after kGrace SIGKILL. When launch returns, every rank has
/// ended and was waited for. When the launching process is killed, so are all ranks.
std::optional<Failure> launch(int count, void (*work)(int rank));

}  // namespace lab06
