#pragma once
// SPDX-License-Identifier: Apache-2.0
// Reads what timeline.h wrote: the bytes of one ring become the events of one process. Nothing in
// the bytes is trusted.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plab/base/timeline.h"

namespace plab::timeline {

/// One event, read back.
struct PastEvent {
  Kind kind = Kind::kMark;
  std::uint32_t tid = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t id = 0;
  std::int64_t value = 0;
  std::string label{};  ///< any bytes: whoever prints it escapes it
};

/// How a process ended, as far as the ring tells.
enum class End : std::uint8_t {
  kExited,   ///< it said so; `exit_code` holds the number
  kKilled,   ///< it is gone and did not say so: killed, or left by _exit without record_exit
  kRunning,  ///< it was alive when the ring was read
};

/// All that one ring says.
struct ProcessTrack {
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint64_t start_time = 0;
  std::string name{};
  End end = End::kKilled;
  std::int64_t exit_code = 0;
  std::vector<PastEvent> events{};  ///< in the order in which they were begun
  std::uint64_t overwritten = 0;    ///< older events that the ring no longer holds
  std::uint64_t torn = 0;           ///< events whose writer was killed, or was still writing
  std::uint64_t dropped = 0;        ///< events that found their place taken
};

/// The rings of one program.
struct Timeline {
  std::vector<ProcessTrack> processes{};  ///< by their first event
  std::vector<std::string> problems{};    ///< rings that could not be read, and why
};

/// Reads a ring from a copy of its memory. `again` is a second copy, taken after the first one was
/// complete: a record that changed in between counts as torn. For a ring that nobody writes any
/// more, give the same bytes twice.
/// @param source names the ring in messages
/// @throws CorruptError when a number in it cannot be true; the message says which, and where
[[nodiscard]] ProcessTrack read_ring(std::span<const std::byte> bytes,
                                     std::span<const std::byte> again, std::string_view source);

/// Sorts the processes by their first event.
void sort_processes(Timeline& timeline);

/// The start of the first event and the end of the last one; nothing when there are no events.
struct Interval {
  std::int64_t first_ns;
  std::int64_t last_ns;
};
[[nodiscard]] std::optional<Interval> interval_of(const Timeline& timeline);

}  // namespace plab::timeline
