#pragma once
// SPDX-License-Identifier: Apache-2.0
// A queue between processes without a thread: put serialises at once, and errors reach the caller.

#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

#include "plab/base/deadline.h"
#include "plab/base/timeline.h"
#include "plab/base/types.h"
#include "plab/mp/archive.h"
#include "plab/mp/ring.h"
#include "plab/shm/wait.h"

namespace plab::mp {

namespace detail {
/// Records a message in the timeline, if it is on.
void record_message(timeline::Kind kind, const ByteRing& ring, std::uint64_t number,
                    std::size_t bytes) noexcept;
/// The buffer that this thread reads messages into; swap it out while it is in use.
[[nodiscard]] std::vector<std::byte>& read_buffer() noexcept;

/// Reads and decodes the next message.
template <typename T>
[[nodiscard]] std::optional<T> get_from(ByteRing& ring, Deadline deadline) {
  if constexpr (wire::detail::is_small_plain<T>) {
    std::vector<std::byte>& message = read_buffer();
    if (!ring.read(message, deadline)) return std::nullopt;
    if (timeline::enabled()) {
      record_message(timeline::Kind::kGet, ring, ring.taken(), message.size());
    }
    std::optional<T> value(std::in_place);
    if (wire::detail::decode_plain(message, *value)) return value;
    return wire::decode<T>(message);  // says what is wrong
  }
  std::vector<std::byte> message = std::move(read_buffer());
  if (!ring.read(message, deadline)) {
    read_buffer() = std::move(message);
    return std::nullopt;
  }
  if (timeline::enabled()) record_message(timeline::Kind::kGet, ring, ring.taken(), message.size());
  std::optional<T> value(wire::decode<T>(message));
  constexpr std::size_t kKept = std::size_t{1} << 20U;
  if (message.capacity() <= kKept) read_buffer() = std::move(message);
  return value;
}
}  // namespace detail

/// First in, first out for each writer; any number of writers and readers in any processes. Bounded
/// in bytes: a full queue blocks the writer, as a pipe does, so a process that puts more than
/// `capacity` and only then reads its own queue waits for ever (give it a deadline). A message may
/// be longer than the capacity; the writer then waits for a reader.
///
/// A handle: copies refer to the same queue; it travels to other processes as an argument or in
/// another queue. Tensors are not copied: the receiver sees the same memory.
///
/// A writer killed within a long message: the next get throws PeerDied, the one after it goes on. A
/// reader killed within get: a message that it had not yet copied is there for the next reader.
/// @threads all calls from any thread @fork the child uses the same queue
template <Travels T>
class SimpleQueue {
 public:
  SimpleQueue() : SimpleQueue(Bytes{std::size_t{64} << 10U}) {}
  explicit SimpleQueue(Bytes capacity) : ring_(capacity, kType) {}
  /// A handle without a queue, to be assigned to; other calls throw ContractError.
  [[nodiscard]] static SimpleQueue unbound() { return SimpleQueue(ByteRing()); }

  /// False: the queue was full until the deadline, and the value was not put. (With
  /// Deadline::never() it is always true.)
  /// @blocks while the queue is full, until `deadline`
  /// @throws ContractError when the value refuses to travel (a non-leaf tensor ...)
  bool put(const T& value, Deadline deadline,
           std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    if constexpr (wire::detail::is_small_plain<T>) {
      return write(wire::detail::encode_plain(value), deadline);
    } else {
      wire::Encoder out;
      wire::encode(out, value);
      if (!write(out.finish(wire::type_id<T>()), deadline)) return false;
      out.sent();
      return true;
    }
  }
  /// False: the queue is full now.
  [[nodiscard]] bool try_put(const T& value) { return put(value, Deadline::passed()); }

  /// The next value; nothing: the queue was empty until the deadline.
  /// @blocks while the queue is empty, until `deadline`
  /// @throws PeerDied when the writer of the next message died within it; CorruptError when the
  /// message is damaged. That message is gone; the queue goes on.
  [[nodiscard]] std::optional<T> get(Deadline deadline,
                                     std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    return detail::get_from<T>(ring_, deadline);
  }
  [[nodiscard]] std::optional<T> try_get() { return get(Deadline::passed()); }
  /// A snapshot.
  [[nodiscard]] bool empty() const { return ring_.empty(); }
  [[nodiscard]] std::size_t capacity() const { return ring_.capacity(); }

  void save(wire::Writer& out) const { out.encoder().number(out.encoder().block(ring_.block())); }
  void load(wire::Reader& in) {
    ring_ = ByteRing(in.decoder().block(in.decoder().number<std::uint32_t>()), kType);
  }

 private:
  bool write(std::span<const std::byte> message, Deadline deadline) {
    if (!ring_.write(message, deadline)) return false;
    if (timeline::enabled()) {
      detail::record_message(timeline::Kind::kPut, ring_, ring_.written(), message.size());
    }
    return true;
  }

  explicit SimpleQueue(ByteRing ring) : ring_(std::move(ring)) {}
  static constexpr std::uint64_t kType = wire::type_id<SimpleQueue<T>>();
  ByteRing ring_;
};

}  // namespace plab::mp
