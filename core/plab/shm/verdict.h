#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a watcher has proved, in words and as a picture.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plab/shm/wait.h"

namespace plab::shm {

/// One thread that waits.
struct Wait {
  std::int32_t pid = 0;
  std::int32_t tid = 0;
  std::string process;  ///< its name, "rank 1"; may be empty
  WaitKind kind = WaitKind::kOther;
  std::string object;       ///< "lock A", "queue B", "process 4711"
  std::string enders;       ///< who could end it, in words
  std::int64_t for_ns = 0;  ///< how long it has waited
  std::string file;
  std::int32_t line = 0;
  std::string function;
  std::vector<std::size_t> waits_for;  ///< indices into Verdict::waits
};

struct Verdict {
  enum class Kind {
    kCycle,   ///< each of the threads can only be freed by others of them
    kOrphan,  ///< nobody who could free the thread is left
  };
  Kind kind = Kind::kCycle;
  /// cycle-locks, cycle-join-full-queue, cycle-join, cycle-full-queues, cycle-empty-queues,
  /// cycle-connections, cycle-mixed; orphan-fork, orphan-no-reader, orphan-no-writer,
  /// orphan-no-peer
  std::string code;
  std::vector<Wait> waits;  ///< the threads of the knot first, then those that wait for it
  std::size_t knot = 0;     ///< how many of `waits` are the knot

  [[nodiscard]] std::vector<std::int32_t> pids() const;  ///< of the knot, each once
  /// One sentence: what holds for all programs of which this one breaks it.
  [[nodiscard]] std::string rule() const;
  /// At most 12 lines of at most 100 columns, each with its end.
  [[nodiscard]] std::string text() const;
  /// The graph of who waits for whom; a picture of its own, in light and dark.
  [[nodiscard]] std::string svg() const;
};

/// "rank 1, process 4711 thread 4712".
[[nodiscard]] std::string who_waits(const Wait& wait);
/// "waits for lock A".
[[nodiscard]] std::string what_for(const Wait& wait);

}  // namespace plab::shm
