#pragma once
// SPDX-License-Identifier: Apache-2.0
// A queue of byte messages in one block of shared memory: many writers, many readers, no thread, no
// descriptor. SimpleQueue and Queue put types on top.
//
// A message is one record, or several fragments when it is longer than the ring: then the writer
// goes on as readers make room, as with a pipe. Writers take turns by a robust lock, readers by
// another; the two sides meet in two counters, tail (bytes written) and head (bytes read), each
// written by one side only. A record counts from the moment that tail passes it, so a writer that
// is killed leaves either a whole record or none; head moves after the bytes were copied out, so a
// reader that is killed leaves the message to the next one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plab/base/deadline.h"
#include "plab/base/types.h"
#include "plab/shm/block.h"

namespace plab::mp {

struct RingState;

/// A handle; copies refer to the same ring.
/// @threads all calls from any thread @procs any process that has the block
/// @fork the child uses the same ring
class ByteRing {
 public:
  /// Bound to nothing: every call but the assignment throws ContractError.
  ByteRing() = default;
  /// A new ring. `capacity` is rounded up to a power of two, 4 KiB to 1 GiB.
  /// @param type what the messages hold; a receiver of the block must name the same
  /// @param maxsize slots for a Queue; 0 or less: any number
  ByteRing(Bytes capacity, std::uint64_t type, std::int64_t maxsize = 0);
  /// The ring in a block that was received. @throws CorruptError when there is none of this type
  ByteRing(shm::Block block, std::uint64_t type);

  /// False: no room until the deadline; nothing was written then, also when some fragments were
  /// (readers skip them).
  /// @blocks while the ring is full, until `deadline`
  bool write(std::span<const std::byte> message, Deadline deadline);
  /// Reads the next message into `into` (which is resized). False: none until the deadline.
  /// @blocks while the ring is empty, until `deadline`
  /// @throws PeerDied naming the pid, when the writer of the next message died in the middle of it;
  /// that message is gone and the next call goes on. CorruptError when the ring is damaged.
  bool read(std::vector<std::byte>& into, Deadline deadline);
  // --- slots: what a Queue adds (slots.cpp) -----------------------------------------------------
  /// Takes one of the slots. False: none until the deadline. Slots of processes that were killed
  /// before they wrote are given back (noticed within 100 ms; a process killed in the instant
  /// between writing a message and saying so gives one back twice).
  /// @blocks until there is one or `deadline`
  [[nodiscard]] bool take_slot(Deadline deadline);
  /// The value of a taken slot was written (the reader gives the slot back), or will never be.
  void slot_written() noexcept;
  void return_slot() noexcept;
  /// Slots that are taken now, and whether that is all. Snapshots.
  [[nodiscard]] std::int64_t slots_taken() const;
  [[nodiscard]] bool slots_full() const;

  /// No record is there. A snapshot.
  [[nodiscard]] bool empty() const;
  /// Whole messages written and read since the start. Snapshots.
  [[nodiscard]] std::uint64_t written() const;
  [[nodiscard]] std::uint64_t taken() const;
  /// Bytes that the ring holds at most.
  [[nodiscard]] std::size_t capacity() const;
  [[nodiscard]] const shm::Block& block() const;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  struct Fragments;
  [[nodiscard]] RingState& state() const;
  [[nodiscard]] std::byte* at(std::uint64_t position) const;
  [[nodiscard]] std::uint64_t room_for(std::size_t bytes, std::uint64_t tail) const;
  bool wait_room(std::size_t bytes, Deadline deadline);
  void publish(std::uint32_t kind, std::span<const std::byte> bytes, std::uint64_t number);
  void repair_writer(std::int32_t dead_pid);
  bool write_fragments(std::span<const std::byte> message, Deadline deadline);
  bool wait_data(bool within, Deadline deadline);
  void look_after_writer();
  bool consume(std::vector<std::byte>& into, bool& within);
  void advance(std::uint64_t head);
  [[noreturn]] void damaged(const char* problem);

  shm::Block block_;
  RingState* state_ = nullptr;  // in the block
  std::uint64_t capacity_ = 0;  // a copy: what others write into the block cannot change it
};

}  // namespace plab::mp
