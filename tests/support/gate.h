#pragma once
// SPDX-License-Identifier: Apache-2.0
// Order between processes of a test, proved and not slept for. Free of Catch2: children use it.

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include "plab/base/deadline.h"
#include "plab/os/mapping.h"
#include "plab/os/pipe.h"
#include "plab/os/process.h"

namespace plab::test {

/// How long any step of a test may take before it counts as a hang. Never asserted as a speed.
[[nodiscard]] Deadline patience();

/// Opens once. Made before fork; each side has it then.
class Gate {
 public:
  Gate() : pipe_(os::create_pipe()) {}
  /// Lets all pass who wait now or later. From any process that has the gate; more than once is
  /// once.
  void open();
  /// Waits until it is open; false after patience(). Does not wait for ever for an opener that
  /// died.
  [[nodiscard]] bool pass();
  [[nodiscard]] bool is_open();

 private:
  os::Pipe pipe_;
};

/// A T in memory that this process and its later forked children share, zeroed or as constructed.
template <typename T>
class SharedByFork {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  template <typename... Args>
  explicit SharedByFork(Args&&... args)
      : map_(os::Mapping::anonymous(Bytes{sizeof(T)})),
        object_(::new (map_.data()) T(std::forward<Args>(args)...)) {}
  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }
  [[nodiscard]] T* get() const noexcept { return object_; }

 private:
  os::Mapping map_;
  T* object_;
};

/// Exit code of a child whose function threw; what it threw is on its standard error.
inline constexpr int kThrew = 99;

/// Puts the signals that a test program handles back to their defaults; run_child does it.
void reset_signals();

/// Forks and runs `body` in the child, which leaves with its result by _exit. No Catch2 macro in
/// there: it reports by exit code, pipe or shared memory.
[[nodiscard]] os::Process run_child(const std::function<int()>& body);

/// Waits for a child and gives its end as text ("exited with code 0"); "still running" after
/// patience(), and then it is killed.
[[nodiscard]] std::string end_of(os::Process& child);
/// run_child and end_of in one.
[[nodiscard]] std::string end_of_child(const std::function<int()>& body);

}  // namespace plab::test
