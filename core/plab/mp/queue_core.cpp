// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/queue_core.h"

#include <utility>

#include "plab/base/error.h"
#include "plab/mp/feeder.h"

namespace plab::mp {

namespace detail {

void record_message(timeline::Kind kind, const ByteRing& ring, std::uint64_t number,
                    std::size_t bytes) noexcept {
  // The same number for the put and the get of one message, as long as one process writes: with
  // several, `number` may be that of a message that was written at the same time.
  const auto handle = ring.block().handle();
  const std::uint64_t id = (handle.arena ^ handle.offset) * 0x9e3779b97f4a7c15 + number;
  timeline::record({.kind = kind,
                    .label = "queue",
                    .id = id == 0 ? 1 : id,
                    .value = static_cast<std::int64_t>(bytes)});
}

std::vector<std::byte>& read_buffer() noexcept {
  thread_local std::vector<std::byte> buffer;
  return buffer;
}

}  // namespace detail

std::shared_ptr<QueueCore> QueueCore::create(std::int64_t maxsize, Bytes capacity,
                                             std::uint64_t type) {
  return std::make_shared<QueueCore>(ByteRing(capacity, type, maxsize));
}

std::shared_ptr<QueueCore> QueueCore::open(shm::Block block, std::uint64_t type) {
  return std::make_shared<QueueCore>(ByteRing(std::move(block), type));
}

QueueCore& QueueCore::check(const std::shared_ptr<QueueCore>& core) {
  if (core) return *core;
  throw ContractError("[mp.queue] this handle has no queue (made by unbound(), or moved away)");
}

QueueCore::QueueCore(ByteRing ring)
    : ring_(std::move(ring)), feeder_(std::make_shared<Feeder>(ring_)) {}

// The feeder goes on until all is written; the end of the process waits for it.
QueueCore::~QueueCore() { feeder_->close(); }

bool QueueCore::reserve(Deadline deadline) {
  check_open("put");
  return ring_.take_slot(deadline);
}

void QueueCore::append(Pack pack, const std::source_location& where) {
  feeder_->append(std::move(pack), where);
}
std::int64_t QueueCore::size() const { return ring_.slots_taken(); }
bool QueueCore::full() const { return ring_.slots_full(); }
void QueueCore::close() { feeder_->close(); }

void QueueCore::join_thread() {
  if (!feeder_->closed()) {
    throw ContractError(
        "[mp.queue] join_thread() before close(): the feeder ends only after close()");
  }
  feeder_->join();
}

void QueueCore::cancel_join_thread() { feeder_->cancel(); }

void QueueCore::check_open(std::string_view call) const {
  if (!feeder_->closed()) return;
  throw ContractError(
      fmt::format("[mp.queue] {}: this process has closed the queue (Queue is closed)", call));
}

std::uint64_t QueueCore::errors() const { return feeder_->errors(); }
std::string QueueCore::last_error() const { return feeder_->last_error(); }

}  // namespace plab::mp
