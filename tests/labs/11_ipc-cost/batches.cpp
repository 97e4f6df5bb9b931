// SPDX-License-Identifier: Apache-2.0
// The Batcher, by a clock that only the check turns.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <random>

#include "11_ipc-cost/lab.hpp"
#include "tests/labs/11_ipc-cost/parts.h"

namespace lab11 {

namespace {

using plab::lab::CheckRun;

/// A Batcher, a clock that only the check turns, and what was sent.
class Bench {
 public:
  Bench(CheckRun& check, std::size_t most, std::int64_t longest) : check_(check) {
    batcher_.most_bytes = most;
    batcher_.longest_ns = longest;
    batcher_.send = [this](const Batch& batch) { take(batch); };
  }
  void add_record(std::size_t bytes) {
    Record record(bytes);
    for (auto& byte : record) byte = static_cast<std::uint8_t>(random_());
    added_ += bytes;
    waiting_.push_back({record, now_});
    add(batcher_, record, now_);
  }
  /// Turns the clock, and ticks.
  void pass(std::int64_t ns) {
    now_ += ns;
    tick(batcher_, now_);
    check_.require(waiting_.empty() || now_ - waiting_.front().since < batcher_.longest_ns,
                   "L11-TOO-LATE", [&] {
                     return fmt::format(
                         "after a tick at {} us a record is still there that came at "
                         "{} us; it may wait for {} us",
                         now_ / 1000, waiting_.front().since / 1000, batcher_.longest_ns / 1000);
                   });
  }
  void end() {
    ending_ = true;
    finish(batcher_);
    check_.require(waiting_.empty(), "L11-LOST", [&] {
      return fmt::format("finish() has returned, and {} records were not sent", waiting_.size());
    });
    finish(batcher_);
    pass(10 * batcher_.longest_ns);
  }
  [[nodiscard]] std::size_t messages() const { return messages_; }
  [[nodiscard]] std::size_t added() const { return added_; }

 private:
  struct Waiting {
    Record record;
    std::int64_t since;
  };
  void take(const Batch& batch) {
    ++messages_;
    const std::size_t most = batcher_.most_bytes;
    check_.require(!batch.lengths.empty(), "L11-EMPTY",
                   [&] { return fmt::format("message {} is empty", messages_); });
    check_.require(batch.bytes.size() <= most || batch.lengths.size() == 1, "L11-TOO-BIG", [&] {
      return fmt::format("message {} has {} records of {} bytes together; {} are the limit",
                         messages_, batch.lengths.size(), batch.bytes.size(), most);
    });
    const std::int64_t age = waiting_.empty() ? 0 : now_ - waiting_.front().since;
    std::size_t offset = 0;
    for (const std::uint32_t length : batch.lengths) {
      const bool right = !waiting_.empty() && waiting_.front().record.size() == length &&
                         offset + length <= batch.bytes.size() &&
                         std::equal(waiting_.front().record.begin(), waiting_.front().record.end(),
                                    batch.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
      check_.require(right, "L11-LOST", [&] {
        return fmt::format("message {}: a record of {} bytes is not the one that is due", messages_,
                           length);
      });
      offset += length;
      waiting_.pop_front();
    }
    const std::size_t next = waiting_.empty() ? 0 : waiting_.front().record.size();
    const bool full = batch.bytes.size() + next >= most;
    check_.require(ending_ || full || age >= batcher_.longest_ns, "L11-TOO-MANY", [&] {
      return fmt::format(
          "message {} has {} of {} bytes, and its oldest record had "
          "waited for {} of {} us",
          messages_, batch.bytes.size(), most, age / 1000, batcher_.longest_ns / 1000);
    });
  }

  CheckRun& check_;
  std::mt19937_64 random_{check_.seed()};
  Batcher batcher_;
  std::int64_t now_ = 1'000'000'000;
  std::deque<Waiting> waiting_;
  std::size_t messages_ = 0;
  std::size_t added_ = 0;
  bool ending_ = false;
};

}  // namespace

void batches_are_right(CheckRun& check) {
  std::mt19937_64 random(check.seed() * 3);
  const std::size_t most = 4096 + check.seed() % 1000;
  constexpr std::int64_t kLongest = 1'000'000;
  Bench fast(check, most, kLongest);
  for (int i = 0; i < 3000; ++i) {
    fast.add_record(8 + random() % 200);
    if (i % 7 == 0) fast.pass(100);
  }
  fast.add_record(most + 1 + random() % 1000);
  fast.end();
  Bench slow(check, most, kLongest);
  for (int i = 0; i < 400; ++i) {
    slow.add_record(8 + random() % 60);
    for (int tick = 0; tick < 2; ++tick) {
      slow.pass(static_cast<std::int64_t>(random() % (kLongest / 4)));
    }
  }
  slow.end();
  check.proved(
      fmt::format("a quick stream: {} bytes in {} messages of at most {} bytes; a slow one: "
                  "no record waited longer than it may",
                  fast.added(), fast.messages(), most));
}

}  // namespace lab11
