#pragma once
// SPDX-License-Identifier: Apache-2.0
// Queue without its type: the ring, the slots, and this process's feeder.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "plab/base/deadline.h"
#include "plab/base/types.h"
#include "plab/mp/ring.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/wire.h"

namespace plab::mp {

class Feeder;

/// What one process has of a Queue. See queue.h for the behaviour.
class QueueCore {
 public:
  /// Serialises one value and returns its type; run by the feeder.
  using Pack = std::function<std::uint64_t(wire::Encoder&)>;

  [[nodiscard]] static std::shared_ptr<QueueCore> create(std::int64_t maxsize, Bytes capacity,
                                                         std::uint64_t type);
  /// @throws CorruptError when the block holds no queue of this type
  [[nodiscard]] static std::shared_ptr<QueueCore> open(shm::Block block, std::uint64_t type);
  /// @throws ContractError for a handle without a queue
  [[nodiscard]] static QueueCore& check(const std::shared_ptr<QueueCore>& core);

  explicit QueueCore(ByteRing ring);
  ~QueueCore();
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  /// Takes a slot. False: none until the deadline. @throws ContractError after close
  [[nodiscard]] bool reserve(Deadline deadline);
  /// Hands a value to the feeder; a slot was reserved for it.
  void append(Pack pack, const std::source_location& where);
  [[nodiscard]] ByteRing& ring() noexcept { return ring_; }
  [[nodiscard]] const shm::Block& block() const { return ring_.block(); }
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] bool full() const;
  void close();
  void join_thread();
  void cancel_join_thread();
  /// @throws ContractError when this process has closed the queue
  void check_open(std::string_view call) const;
  [[nodiscard]] std::uint64_t errors() const;
  [[nodiscard]] std::string last_error() const;

 private:
  ByteRing ring_;
  std::shared_ptr<Feeder> feeder_;
};

}  // namespace plab::mp
