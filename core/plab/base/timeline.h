#pragma once
// SPDX-License-Identifier: Apache-2.0
// The timeline: what each process and thread did and when, written as small fixed-size records into
// a ring. The ring lies in memory that a higher layer hands over (os/timeline_store.h maps a file),
// so the records outlive a process that was killed. timeline_reader.h reads the rings,
// timeline_export.h makes a page of them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "plab/base/deadline.h"

namespace plab::timeline {

/// What happened. The numbers are part of the file format: never reuse one.
enum class Kind : std::uint8_t {
  kStart = 1,     ///< the process began; the label is its name
  kExit = 2,      ///< the process ended by itself; value: its exit code
  kMap = 3,       ///< memory was mapped or allocated; value: bytes
  kUnmap = 4,     ///< memory was given back; value: bytes
  kPut = 5,       ///< a message was sent; id: the same number as that of its kGet; value: bytes
  kGet = 6,       ///< a message was received
  kLockWait = 7,  ///< waited for a lock for `duration_ns`; id: which lock
  kSpan = 8,      ///< a piece of work that took `duration_ns`
  kMark = 9,      ///< a moment worth a flag
  kThread = 10,   ///< names the thread that records it
};
inline constexpr std::uint8_t kLastKind = 10;

/// "start", "put", "lock wait" ...; "?" for a number that is no kind.
[[nodiscard]] std::string_view name_of(Kind kind) noexcept;

/// One event as the caller says it:
/// `record({.kind = Kind::kPut, .label = "queue", .id = number, .value = bytes})`.
struct Event {
  Kind kind = Kind::kMark;
  std::string_view label{};      ///< copied; cut to kLabelBytes
  std::uint64_t id = 0;          ///< ties a put to its get; 0: none
  std::int64_t value = 0;        ///< bytes, an exit code, a loss in millionths: the kind decides
  std::int64_t start_ns = 0;     ///< monotonic_ns(); 0: now
  std::int64_t duration_ns = 0;  ///< of a span or a wait
};

namespace detail {
extern constinit std::atomic<bool> on;
}

/// Whether events are kept; one relaxed load. Ask before you compute what an event needs.
[[nodiscard]] inline bool enabled() noexcept { return detail::on.load(std::memory_order_relaxed); }

/// Keeps one event; does nothing while the timeline is off. Lock-free, from any thread, not from a
/// signal handler (the first event of a process opens its ring). Never throws and never blocks: an
/// event whose place is still being written by a thread that the ring has lapped is dropped and
/// counted.
/// @fork the child's first event opens a ring of its own; it never writes into its parent's
void record(const Event& event) noexcept;

/// Names this thread's lane.
inline void name_thread(std::string_view name) noexcept {
  if (enabled()) record({.kind = Kind::kThread, .label = name});
}

/// Names this process: "rank 1". Replaces the name of the program, also when it is called late.
/// Opens the ring, so that a process that does nothing else is in the timeline too.
void name_process(std::string_view name) noexcept;

/// The end of this process: call it before `_exit`. (Processes that return from main do it by
/// themselves.) A process without it is shown as killed. Only the first call of a process counts.
void record_exit(int code) noexcept;

inline constexpr std::size_t kLabelBytes = 50;

/// A piece of work, from here to the end of the block. The label is copied, as record() does it.
class Span {
 public:
  explicit Span(std::string_view label, std::uint64_t id = 0, std::int64_t value = 0,
                Kind kind = Kind::kSpan) noexcept {
    // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject): nobody reads it then
    if (!enabled()) return;
    label_bytes_ = label.copy(label_, kLabelBytes);
    id_ = id;
    value_ = value;
    kind_ = kind;
    start_ = monotonic_ns();
  }
  ~Span() {
    if (start_ == 0) return;
    record({.kind = kind_,
            .label = std::string_view(label_, label_bytes_),
            .id = id_,
            .value = value_,
            .start_ns = start_,
            .duration_ns = monotonic_ns() - start_});
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  /// Replaces the value that was given at the start, where it is only known at the end.
  void set_value(std::int64_t value) noexcept { value_ = value; }

 private:
  std::int64_t start_ = 0;  // 0: the timeline was off at the start, and the rest is not set
  std::uint64_t id_;
  std::int64_t value_;
  std::size_t label_bytes_;
  Kind kind_;
  char label_[kLabelBytes];
};

// --- the ring ---------------------------------------------------------------------------------

inline constexpr std::uint64_t kMagic = 0x31454c544c505f50;
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kNameBytes = 32;
inline constexpr std::uint64_t kMostRecords = 1U << 20U;

/// One event as it lies in the ring. `sequence` is 0 for never written, 2 * ticket + 1 while the
/// record of that ticket is written, 2 * ticket + 2 when it is complete.
struct Record {
  std::atomic<std::uint64_t> sequence;
  std::int64_t start_ns;
  std::int64_t duration_ns;
  std::uint64_t id;
  std::int64_t value;
  std::uint32_t tid;
  std::uint8_t kind;
  std::uint8_t label_bytes;
  char label[kLabelBytes];
};
static_assert(sizeof(Record) == 96 && std::atomic<std::uint64_t>::is_always_lock_free);

/// The start of a ring's memory; `capacity` records follow.
struct alignas(64) RingHeader {
  // fixed after start
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t record_bytes;
  std::uint64_t capacity;  ///< a power of two
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint64_t start_time;  ///< of the process, field 22 of /proc/PID/stat: pid + this is unique
  char name[kNameBytes];     ///< ends with a zero byte
  // written by every thread of the process
  alignas(64) std::atomic<std::uint64_t> next;     ///< tickets given out
  alignas(64) std::atomic<std::uint64_t> dropped;  ///< events that found their place taken
};
static_assert(sizeof(RingHeader) == 256);

/// Bytes of a ring of `capacity` records.
[[nodiscard]] constexpr std::size_t ring_bytes(std::uint64_t capacity) noexcept {
  return sizeof(RingHeader) + capacity * sizeof(Record);
}

/// Who writes the ring.
struct ProcessInfo {
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint64_t start_time = 0;
  std::string_view name{};  ///< cut to kNameBytes - 1
};

/// Makes a ring in zeroed memory, aligned to 64, of exactly ring_bytes(capacity).
/// @throws ContractError when the capacity is no power of two from 2 to kMostRecords, or the memory
/// does
///         not fit
RingHeader* make_ring(std::span<std::byte> memory, std::uint64_t capacity,
                      const ProcessInfo& process);

// --- for os/timeline_store --------------------------------------------------------------------

/// What base cannot do by itself. `open` gives this process's ring (null: it cannot be had, and the
/// timeline goes off); it is called once, at the first event, by one thread, while the other
/// threads' events are dropped. `thread_id` is called once per thread.
struct Backend {
  RingHeader* (*open)() noexcept;
  std::uint32_t (*thread_id)() noexcept;
};

/// Events are kept from now on. The functions must live as long as the process.
void turn_on(const Backend& backend) noexcept;

/// No events from now on; the ring that was in use, or null. Events that other threads have begun
/// may still be written: unmap it only when there are none.
RingHeader* turn_off() noexcept;

/// In the child, before anything is recorded: forgets the parent's ring and thread number. The next
/// event opens a new one if the timeline is on. Returns the parent's ring, to be unmapped.
RingHeader* forget_after_fork() noexcept;

}  // namespace plab::timeline
