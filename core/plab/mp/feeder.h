#pragma once
// SPDX-License-Identifier: Apache-2.0
// The thread of one process that writes what was put on a Queue. For the files of mp.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <thread>

#include "plab/mp/queue_core.h"
#include "plab/mp/ring.h"

namespace plab::mp {

/// The list of values and the thread that empties it into the ring. The thread runs work(), from
/// the first append until the list is empty after close().
/// @fork the child's handler empties the list and forgets the thread, which it does not have
class Feeder : public std::enable_shared_from_this<Feeder> {
 public:
  explicit Feeder(ByteRing ring) : ring_(std::move(ring)) {}
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;
  ~Feeder();

  /// @param where the line that put: a verdict on a deadlock names it
  void append(QueueCore::Pack pack, const std::source_location& where);
  void close();
  /// Waits for the thread; it must have been closed. Nothing after cancel().
  void join();
  void cancel();
  [[nodiscard]] bool closed() const;
  /// The thread has written all after close(), and is about to end.
  [[nodiscard]] bool done() const noexcept { return done_.load(); }
  [[nodiscard]] std::uint64_t errors() const;
  [[nodiscard]] std::string last_error() const;

  // For the handlers of fork: all feeders are locked meanwhile, so that the child finds whole
  // lists.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void reset_in_child();

 private:
  struct Value {
    QueueCore::Pack pack;
    std::source_location where;
  };
  void start_thread();
  void work() noexcept;
  bool next(Value& value);
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void wait_for_end();
  void write(const Value& value) noexcept;
  void lose(const std::string& problem) noexcept;

  ByteRing ring_;
  mutable std::mutex mutex_;
  // protected by mutex_
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::deque<Value> values_;
  bool closed_ = false;
  bool cancelled_ = false;
  std::uint64_t errors_ = 0;
  std::string last_error_;
  // touched by start_thread (under mutex_), join and reset_in_child
  std::unique_ptr<std::jthread> thread_;
  std::atomic<bool> done_{false};
};

}  // namespace plab::mp
