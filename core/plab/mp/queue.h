#pragma once
// SPDX-License-Identifier: Apache-2.0
// A queue between processes whose put does not wait for readers: a thread of the putting process,
// the feeder, serialises and writes.

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include "plab/base/deadline.h"
#include "plab/mp/archive.h"
#include "plab/mp/queue_core.h"

namespace plab::mp {

/// multiprocessing.Queue. put takes one of `maxsize` slots, appends the value to a list without
/// bound in this process, and returns; the feeder thread, started by the first put, serialises the
/// value and writes it. The slot is given back when a reader has the bytes. So
/// - what is put is serialised later: change a plain value after put, and you have a copy anyway
///   (values are copied into the list), but a tensor's elements are shared at once and for good;
/// - a value that refuses to travel is not the caller's error: the feeder reports it on standard
///   error, drops it and gives the slot back; errors() counts, last_error() tells;
/// - qsize, empty and full are snapshots: what was just put may not have been written.
///
/// A process that has put joins its feeder when it ends, so all is written: with a full ring and no
/// reader it never ends. cancel_join_thread() says to drop the rest instead.
///
/// A handle: copies refer to the same queue; it travels as an argument or in another queue.
/// @threads all calls from any thread
/// @fork the child uses the same queue, with an empty list and no feeder of its own yet
template <Travels T>
class Queue {
 public:
  /// @param maxsize values that no reader has taken yet, over all writers; 0 or less: no bound
  /// @param capacity bytes of the ring between the feeders and the readers
  Queue() : Queue(0) {}
  explicit Queue(std::int64_t maxsize, Bytes capacity = Bytes{std::size_t{64} << 10U})
      : core_(QueueCore::create(maxsize, capacity, kType)) {}
  [[nodiscard]] static Queue unbound() { return Queue(std::shared_ptr<QueueCore>()); }

  /// False: all slots were taken until the deadline, and the value was not put.
  /// @blocks while there is no slot, until `deadline`
  /// @throws ContractError after close()
  bool put(T value, Deadline deadline,
           std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    if (!core().reserve(deadline)) return false;
    core().append(
        [value = std::make_shared<T>(std::move(value))](wire::Encoder& out) {
          wire::encode(out, *value);
          return wire::type_id<T>();
        },
        where);
    return true;
  }
  [[nodiscard]] bool put_nowait(T value) { return put(std::move(value), Deadline::passed()); }
  /// The next value; nothing: none came until the deadline.
  /// @blocks while the queue is empty, until `deadline`
  /// @throws ContractError after close(); PeerDied and CorruptError as SimpleQueue::get
  [[nodiscard]] std::optional<T> get(Deadline deadline,
                                     std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    core().check_open("get");
    return detail::get_from<T>(core().ring(), deadline);
  }
  [[nodiscard]] std::optional<T> get_nowait() { return get(Deadline::passed()); }

  /// Values put and not yet taken, over all processes. A snapshot.
  [[nodiscard]] std::int64_t qsize() const { return core().size(); }
  /// Whether a get would find nothing now. A snapshot.
  [[nodiscard]] bool empty() const { return core().ring().empty(); }
  [[nodiscard]] bool full() const { return core().full(); }

  /// This process puts and gets no more; what was put is still written.
  void close() { core().close(); }
  /// Waits until the feeder has written all.
  /// @blocks until then, while the ring is full and nobody reads without limit
  /// @throws ContractError before close()
  void join_thread(std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    core().join_thread();
  }
  /// The end of this process does not wait for the feeder: what is not written by then is lost.
  void cancel_join_thread() { core().cancel_join_thread(); }

  /// How many values this process's feeder could not serialise.
  [[nodiscard]] std::uint64_t errors() const { return core().errors(); }
  /// "type: message" of the last one; empty when there was none.
  [[nodiscard]] std::string last_error() const { return core().last_error(); }

  void save(wire::Writer& out) const { out.encoder().number(out.encoder().block(core().block())); }
  void load(wire::Reader& in) {
    core_ = QueueCore::open(in.decoder().block(in.decoder().number<std::uint32_t>()), kType);
  }

 private:
  explicit Queue(std::shared_ptr<QueueCore> core) : core_(std::move(core)) {}
  [[nodiscard]] QueueCore& core() const { return QueueCore::check(core_); }
  static constexpr std::uint64_t kType = wire::type_id<Queue<T>>();
  std::shared_ptr<QueueCore> core_;
};

}  // namespace plab::mp
