#pragma once
// SPDX-License-Identifier: Apache-2.0
// Named shared memory, for programs that are not plab's: they map /dev/shm/<name> and have the data
// from the first byte on. plab's own notes are in a page after the data.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "plab/base/types.h"
#include "plab/os/process.h"
#include "plab/shm/block.h"

namespace boost::interprocess {
class mapped_region;
}

namespace plab::shm {

/// What the name of a segment says: "/plab_<pid>_<start>_<n>_<random>", the first two of the
/// process that made it. Those four numbers fit into a Handle.
struct SegmentName {
  std::uint32_t pid = 0;
  std::uint64_t start = 0;   ///< 40 bits
  std::uint32_t number = 0;  ///< 24 bits
  std::uint64_t random = 0;  ///< not 0
  [[nodiscard]] std::string text() const;
  /// False for a text of any other form.
  [[nodiscard]] static bool parse(std::string_view text, SegmentName& into) noexcept;
  friend bool operator==(const SegmentName&, const SegmentName&) = default;
};

/// The job that a segment belongs to: the depot's numbers.
struct JobIdentity {
  os::ProcessIdentity root;  ///< its first process
  std::uint64_t number = 0;
};

/// Which segments a sweep looks at: all, or only those whose maker is dead (quick: it is in the
/// name).
enum class SweepScope { kAll, kMakerDead };

/// A mapping of a named segment, and this process's entry among its holders. The last holder
/// removes the name. When all holders are killed, sweep_dead_segments() of any later process does.
/// @fork the child registers as a holder of its own before fork(2) returns
class Segment {
 public:
  /// A new segment, mode 0600, all of its memory reserved.
  /// @throws ResourceError naming the size and the free space when /dev/shm is too small or missing
  [[nodiscard]] static Segment create(Bytes size, const JobIdentity& job);
  /// Takes over a reference under way.
  /// @throws CorruptError when there is no such segment, it is not plab's, or nothing is under way
  [[nodiscard]] static Segment receive(const Handle& handle);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const SegmentName& name() const noexcept { return name_; }
  [[nodiscard]] Handle handle() const noexcept;
  /// One more reference under way. @throws ResourceError when over two thousand millions are
  void add_in_flight();
  /// Takes one away. @throws CorruptError when none is
  void take_in_flight();
  /// For the handlers of fork: registers this process. False when 128 hold it already.
  [[nodiscard]] bool register_holder() noexcept;
  /// Lets go; removes the name when nobody else holds it.
  void reset() noexcept;

 private:
  Segment();
  struct Footer;
  [[nodiscard]] Footer& footer() const noexcept;
  [[nodiscard]] static Segment open(const SegmentName& name, Bytes size);
  [[nodiscard]] static bool is_garbage(const std::string& file, bool maker_lives);
  friend std::size_t sweep_dead_segments(SweepScope scope);

  std::unique_ptr<boost::interprocess::mapped_region> region_;
  SegmentName name_;
  std::size_t bytes_ = 0;
  int slot_ = -1;
};

/// Removes names in /dev/shm that no living process holds and that are not in a message: of a maker
/// that lives, or of a job whose first process lives. Returns how many. Takes 20 us for each
/// segment that it looks at. Never touches a file that is not of plab's form, nor one of another
/// user.
std::size_t sweep_dead_segments(SweepScope scope = SweepScope::kAll);

}  // namespace plab::shm
