#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the processes of a Hogwild training and their parent tell each other, in one shared tensor
// of int64. A slot has one writer; readers see a value that was there a moment ago. For the files
// of parallel.

#include <atomic>
#include <cstdint>

#include "plab/parallel/hogwild.h"
#include "plab/tensor/tensor.h"

namespace plab::parallel {

class HogwildBoard {
 public:
  /// Fields of a process's line; a line fills whole cache lines, so that writers do not slow each
  /// other down.
  enum Field : std::int64_t { kSteps, kWanted, kLoss, kEnd, kPoints, kChecked, kLost, kStores };
  static constexpr std::int64_t kLine = 16;
  static constexpr std::int64_t kMostPoints = 256;
  static constexpr std::int64_t kPointFields = 3;  // seconds, step, loss

  HogwildBoard() = default;
  [[nodiscard]] static HogwildBoard make(int processes);
  template <class Archive>
  void serialize(Archive& archive) {
    archive(words_, curves_);
  }

  // --- the start: everybody waits until all are there ---
  /// Counts this process; the last one opens the gate and notes the time.
  void arrive() const;
  [[nodiscard]] bool is_open() const { return start_ns() != 0; }
  [[nodiscard]] std::int64_t start_ns() const { return word(kStart).load(); }

  // --- the parent says stop ---
  void stop() const { word(kStop).store(1); }
  [[nodiscard]] bool is_stopped() const {
    return word(kStop).load(std::memory_order_relaxed) != 0;  // looked at in each step
  }

  /// Relaxed: progress orders nothing. What is read after the end of a process is complete, since
  /// joining it comes after all that it did.
  void set(int rank, Field field, std::int64_t value) const {
    line(rank, field).store(value, std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t get(int rank, Field field) const {
    return line(rank, field).load(std::memory_order_relaxed);
  }
  void add_point(int rank, const LossPoint& point) const;
  [[nodiscard]] int processes() const { return static_cast<int>(words_.size(0)) - 1; }
  [[nodiscard]] WorkerProgress progress(int rank) const;
  [[nodiscard]] WorkerResult result(int rank) const;

 private:
  enum Word : std::int64_t { kArrived, kStart, kStop };
  [[nodiscard]] std::atomic_ref<std::int64_t> word(Word which) const {
    return std::atomic_ref(words_.data<std::int64_t>()[which]);
  }
  [[nodiscard]] std::atomic_ref<std::int64_t> line(int rank, Field field) const {
    return std::atomic_ref(words_.data<std::int64_t>()[(rank + 1) * kLine + field]);
  }

  Tensor words_;   // [1 + processes, kLine]
  Tensor curves_;  // float64 [processes, kMostPoints, kPointFields]
};

}  // namespace plab::parallel
