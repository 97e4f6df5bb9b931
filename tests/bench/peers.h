#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a user would pick instead of plab, and the floors that the machine sets.

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace plab::bench {

/// Two processes hand a number to and fro with bare futex calls, nothing else: microseconds a
/// round.
[[nodiscard]] double futex_round_trip_us(int rounds);
/// The same, both spinning.
[[nodiscard]] double spin_round_trip_us(int rounds);
/// boost::interprocess::message_queue, 64-byte messages, one writer and one reader: messages/s.
[[nodiscard]] double boost_messages_per_s(int messages);
/// Copies `total` bytes in pieces of `piece` through `slots` buffers: GB/s.
[[nodiscard]] double memcpy_gb_per_s(std::size_t total, std::size_t piece, std::size_t slots);
/// Starts two copies of this binary that return from main at once, and reaps them: microseconds.
[[nodiscard]] double posix_spawn_two_us();
/// The five matrix products of a 64-128-10 step at batch 32 and what they cannot do without:
/// steps/s.
[[nodiscard]] double bare_steps_per_s(int steps);

/// The argument with which main() returns at once (for posix_spawn_two_us).
inline constexpr const char* kReturnAtOnce = "--return-at-once";

/// Runs peers/torch_peers.py PART with a Python that has PyTorch, and returns the figures it prints
/// as name to number; nothing when no such Python is installed.
/// @throws Error when it is there and fails
[[nodiscard]] std::optional<std::map<std::string, double>> torch_figures(const std::string& part);

}  // namespace plab::bench
