#pragma once
// SPDX-License-Identifier: Apache-2.0
// How the demo's processes and their parent see each other: a few numbers in a shared tensor. Each
// number has one writer, so nothing needs a lock.

#include <atomic>
#include <bit>
#include <cstdint>

#include "plab/base/deadline.h"
#include "plab/tensor/tensor.h"

namespace plab::lab {

/// A view of the shared tensor; both sides make their own.
class Board {
 public:
  /// What a worker has to do now.
  enum class Order : std::uint32_t { kWait, kGo, kStop };

  /// The tensor to share, for `ranks` workers.
  [[nodiscard]] static Tensor make(int ranks);
  explicit Board(const Tensor& board) : words_(board.data<std::int64_t>()) {}

  // written only by the parent
  void give(Order order) const noexcept;  ///< and wakes the workers
  // written only by worker `rank`
  void set_ready(int rank) const noexcept { word(rank, kReady).store(1); }
  void count_step(int rank, float loss) const noexcept;
  void set_end(int rank, std::int64_t ns) const noexcept { word(rank, kEnd).store(ns); }

  [[nodiscard]] Order order() const noexcept;
  /// Waits while the order is kWait. @blocks until the parent gives one, or the deadline
  Order wait_for_order(Deadline deadline) const;
  [[nodiscard]] bool is_ready(int rank) const noexcept { return word(rank, kReady).load() != 0; }
  [[nodiscard]] std::int64_t steps(int rank) const noexcept { return word(rank, kSteps).load(); }
  [[nodiscard]] float loss(int rank) const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(word(rank, kLoss).load()));
  }
  /// monotonic_ns() after the last step; 0 before.
  [[nodiscard]] std::int64_t end(int rank) const noexcept { return word(rank, kEnd).load(); }

 private:
  enum Field : std::int64_t { kReady, kSteps, kLoss, kEnd };
  static constexpr std::int64_t kLine = 8;  // words in a cache line: no two ranks share one

  [[nodiscard]] std::atomic_ref<std::int64_t> word(int rank, Field field) const noexcept {
    return std::atomic_ref<std::int64_t>(words_[(rank + 1) * kLine + field]);
  }
  [[nodiscard]] std::atomic<std::uint32_t>& order_word() const noexcept {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(words_);
  }
  std::int64_t* words_;
};

}  // namespace plab::lab
