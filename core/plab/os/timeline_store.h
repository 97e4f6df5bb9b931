#pragma once
// SPDX-License-Identifier: Apache-2.0
// Where the timeline's rings are kept: one file per process in a folder, mapped and shared, so that
// what a process wrote is there after kill -9. See base/timeline.h for what is written.

#include <cstdint>
#include <filesystem>

#include "plab/base/timeline_reader.h"

namespace plab::os {

inline constexpr std::uint64_t kTimelineEvents = 16384;

/// From now on each process keeps its events in a ring of its own, `folder`/PID_STARTTIME.ring,
/// this one at once, its children at their first event (1.6 MB at the default size; the space is
/// reserved, so a full disk is a warning and no timeline, not a crash). Makes the folder. Sets
/// PLAB_TIMELINE, so that programs that are started later do the same once they call
/// start_timeline_from_environment(). Not while other threads read the environment. No descriptor
/// stays open.
/// @param events the size of each ring; rounded up to a power of two, at most 2^20
/// @throws SystemError when the folder cannot be made or written
/// @fork the child opens its own ring at its first event and unmaps its parent's at once. A child
///       made without fork(3) (a bare clone) would write into its parent's: none of plab's is
void start_timeline(const std::filesystem::path& folder, std::uint64_t events = kTimelineEvents);

/// start_timeline() for the folder in PLAB_TIMELINE, with PLAB_TIMELINE_EVENTS; false when it is
/// not set. mp::init calls it. A folder that cannot be made is a warning: the program goes on
/// without.
bool start_timeline_from_environment();

/// No events from now on, and none in programs that are started later; the files stay. For the end
/// of a program or a test: no other thread may be recording.
void stop_timeline() noexcept;

/// How many events all processes of a folder have recorded so far; 0 for a folder that is not
/// there. Cheap: it reads the first bytes of each ring.
[[nodiscard]] std::uint64_t count_timeline_events(const std::filesystem::path& folder);

/// All rings of a folder, also of processes that are still writing. A damaged ring is named in
/// `problems` and left out; a process that is gone without having said so is marked killed.
/// @throws SystemError when the folder cannot be read
[[nodiscard]] timeline::Timeline read_timeline(const std::filesystem::path& folder);

/// Removes the rings of a folder, and the folder when nothing else is in it. A process that still
/// writes keeps its memory. A folder that is not there is fine.
void remove_timeline(const std::filesystem::path& folder) noexcept;

}  // namespace plab::os
