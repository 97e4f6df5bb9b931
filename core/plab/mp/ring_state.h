#pragma once
// SPDX-License-Identifier: Apache-2.0
// The shared memory of a ByteRing, and the slots of a Queue. For the files of mp.

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "plab/shm/mutex.h"
#include "plab/shm/parking.h"

namespace plab::mp {

/// What stands before the bytes of a record. Records start at multiples of 16.
struct alignas(16) RingRecord {
  enum Kind : std::uint32_t {
    kWhole = 1,  ///< a message
    kFirst,      ///< of a message in fragments
    kMiddle,
    kLast,
    kSkip,     ///< nothing: the rest of the ring up to its end
    kAborted,  ///< the writer gave up: forget the fragments
    kDied,     ///< the writer died: forget the fragments; `number` is its pid
  };
  std::uint32_t kind;
  std::uint32_t bytes;
  std::uint64_t number;  ///< of the message, from 0
};
static_assert(sizeof(RingRecord) == 16);

/// One process that has taken slots of a Queue for values that it has not written yet.
struct RingProducer {
  std::atomic<std::uint64_t> who;  ///< ProcessIdentity::packed; 0: free
  std::atomic<std::int64_t> slots;
};

struct RingState {
  static constexpr std::uint64_t kMagic = 0x31474e495242504c;
  static constexpr std::size_t kProducers = 128;

  // fixed after start
  std::uint64_t magic;
  std::uint64_t type;
  std::uint64_t capacity;  ///< a power of two
  std::int64_t maxsize;    ///< slots; 0: any number

  // written by the holder of write_lock
  alignas(64) std::atomic<std::uint64_t> tail;  ///< bytes published since the start; on a line of
                                                ///< its own, because readers look at it
  alignas(64) std::atomic<std::uint64_t> written;  ///< messages published
  std::atomic<std::uint64_t> next_tail;     ///< what tail and written will be once the record
  std::atomic<std::uint64_t> next_written;  ///< in work is published
  std::atomic<std::uint32_t> partial;       ///< pid of who is within a message of fragments; 0
  std::uint64_t seen_head;                  ///< head as last read: asks the other side less

  // written by the holder of read_lock
  alignas(64) std::atomic<std::uint64_t> head;   ///< bytes consumed
  alignas(64) std::atomic<std::uint64_t> taken;  ///< messages consumed
  std::uint64_t seen_tail;

  alignas(64) shm::Mutex write_lock;
  alignas(64) shm::Mutex read_lock;
  alignas(64) shm::Parking data;  ///< a reader sleeps here for data
  alignas(64) shm::Parking room;  ///< a writer sleeps here for room

  // Queue: values put and not yet taken are reserved - taken
  alignas(64) std::atomic<std::uint64_t> reserved;
  shm::Parking slots;  ///< writers sleep here for a slot
  std::array<RingProducer, kProducers> producers;
};
static_assert(std::is_standard_layout_v<RingState>);

}  // namespace plab::mp
