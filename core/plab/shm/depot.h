#pragma once
// SPDX-License-Identifier: Apache-2.0
// How descriptors travel between the processes of a job.
//
// A message that names a block carries no descriptor. The descriptor of each arena is put, once,
// into the depot of the job: a socket pair whose queue nobody empties. Who meets an arena that it
// does not know peeks through the queue and gets a copy of the descriptor. So the sender may exit
// at once, a late reader finds what it needs, and a repeat costs no system call.
//
// The queue is a log of records of 32 bytes, each with one descriptor. Reading never consumes
// (MSG_PEEK with SO_PEEK_OFF). When the log gets long it is compacted: the record at the head is
// dropped when its arena is of no use any more, or appended again and then consumed. A process that
// is killed in between leaves the record twice, never not at all. The readers' position belongs to
// the socket, not to the process, so a robust mutex in a small shared memory guards it all.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plab/os/mapping.h"
#include "plab/os/process.h"
#include "plab/os/unique_fd.h"

namespace plab::shm {

/// The depot of the job that this process belongs to. Made by the first allocation of the first
/// process; forked children have it, spawned ones are handed it.
/// @threads guarded by the registry's lock (registry.h); take it first
/// @fork the child uses the same depot
class Depot {
 public:
  /// The descriptors to hand to a spawned child, by number, in this order; they stay this
  /// process's. Makes the depot when there is none yet.
  /// @throws ResourceError at the descriptor limit
  [[nodiscard]] static std::array<int, 3> descriptors();
  /// Joins the job that the descriptors belong to. Before the first allocation of this process.
  /// @throws CorruptError when they are not those of a depot; ContractError when this process has
  /// another depot already
  static void adopt(std::array<os::UniqueFd, 3> descriptors);

  struct Entry {
    std::uint64_t arena = 0;
    os::ProcessIdentity owner;
    os::UniqueFd fd;
  };
  Depot() = default;
  [[nodiscard]] static Depot create();
  [[nodiscard]] static Depot open(std::array<os::UniqueFd, 3> descriptors);

  /// Adds an arena. When the log is full it is compacted first.
  /// @throws ResourceError when there is no room, or too many descriptors are under way
  void append(std::uint64_t arena, os::ProcessIdentity owner, int fd);
  /// The descriptor of an arena; nothing when it is not in the log.
  /// @throws ResourceError at the descriptor limit; nothing is lost then
  [[nodiscard]] std::optional<Entry> find(std::uint64_t arena);
  /// Looks at every record; drops those for which `keep` says false. Without a descriptor limit in
  /// the way it also shortens a log that holds an arena twice.
  void compact(const std::function<bool(const Entry&)>& keep);
  /// Shows every record in turn; an arena may come twice.
  void for_each(const std::function<void(const Entry&)>& visit);
  [[nodiscard]] std::uint64_t entries() const noexcept;
  /// The process that made the depot: the root of the job.
  [[nodiscard]] os::ProcessIdentity root() const noexcept;
  /// A random number that is the same in all processes of the job.
  [[nodiscard]] std::uint64_t job() const noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(state_); }
  [[nodiscard]] std::array<int, 3> numbers() const noexcept;

 private:
  struct Shared;
  [[nodiscard]] Shared& shared() const noexcept;
  [[nodiscard]] std::optional<Entry> peek();

  // What the last whole scan saw: an arena that is not there need not be looked for again until the
  // log changes. A damaged handle would cost a scan each time.
  std::vector<std::uint64_t> seen_;
  std::uint64_t seen_version_ = 0;

  os::UniqueFd write_;
  os::UniqueFd read_;
  os::UniqueFd state_fd_;
  os::Mapping state_;
};

}  // namespace plab::shm
