#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 05: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plab/base/types.h"
#include "plab/os/mapping.h"
#include "plab/os/process.h"

namespace lab05 {

inline constexpr std::size_t kMostHolders = 14;

/// The first bytes of a segment. A file in /dev/shm is zero when it is made, and so is this: no
/// holder, nothing under way.
struct Header {
  /// The processes that have the segment, as ProcessIdentity::packed; 0: a free place.
  std::array<std::atomic<std::uint64_t>, kMostHolders> holders;
  /// Names that were handed over and not opened yet.
  std::atomic<std::int64_t> under_way;
  std::uint64_t bytes;  ///< of the data behind the header
};
static_assert(sizeof(Header) == 128);

/// One process's view of a segment: a file /dev/shm/<name> of sizeof(Header) + bytes, mapped.
struct Segment {
  std::string name;
  plab::os::Mapping memory;
  [[nodiscard]] Header& header() const { return *reinterpret_cast<Header*>(memory.data()); }
  [[nodiscard]] std::span<std::byte> data() const { return memory.bytes().subspan(sizeof(Header)); }
};

/// What every name begins with: "plab-lab05-" and the process group of this run. Nothing else in
/// /dev/shm is this lab's business. Given.
std::string prefix();
/// The path of a name.
std::string path_of(const std::string& name);
/// The names in /dev/shm that begin with prefix(). Given.
std::vector<std::string> all_names();

/// Notes this process as a holder. Given. @throws plab::ResourceError when kMostHolders are
void enter(Header& header);
/// Strikes this process out; true when it was the last holder and nothing is under way. Given.
bool leave(Header& header);
/// Whether any process that is noted still lives. Given.
bool is_held(const Header& header);

/// Makes a segment of `size` bytes of data, zeroed, with a name that no other one has or had. All
/// of its memory is there when create returns; no descriptor stays open.
/// @throws plab::ResourceError when /dev/shm has no room for it; no file is left then
Segment create(plab::Bytes size);

/// Counts the name as under way and returns it: exactly one open() follows, in whatever process,
/// maybe long after this one has ended.
std::string hand_over(const Segment& segment);
/// Maps a segment that was handed over to this process; no descriptor stays open.
Segment open(const std::string& name);

/// This process needs the segment no more. The last one removes the name.
void let_go(Segment& segment);

/// Removes the segments that nobody has and that are not under way: what processes have left that
/// were killed. Returns how many.
int sweep();

}  // namespace lab05
