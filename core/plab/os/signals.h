#pragma once
// SPDX-License-Identifier: Apache-2.0
// Signals: their names, blocking them for a while, and Ctrl-C as a descriptor to wait on.

#include <csignal>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>

#include "plab/os/unique_fd.h"

namespace plab::os {

/// "SIGKILL"; "SIGRTMIN+3" for real-time ones; "signal 999" for none.
[[nodiscard]] std::string signal_name(int number);

/// Blocks signals for the calling thread while it lives, then puts the old mask back.
/// @threads of one thread only @fork the child starts with the same mask
class SignalBlock {
 public:
  SignalBlock(std::initializer_list<int> numbers);
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
  ~SignalBlock();

 private:
  sigset_t old_;
};

/// While it lives, SIGINT and SIGTERM do not end the process: they set a flag and make `fd()`
/// readable. A second signal of the same kind within the same life acts as by default, so that a
/// hanging program still ends. One per process.
/// @fork the child's copy does nothing when it goes, and signals sent to the child act as by
/// default: the handler ignores a process that did not install it
class InterruptFlag {
 public:
  /// @throws ContractError when another one lives in this process
  explicit InterruptFlag(std::source_location where = std::source_location::current());
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;
  ~InterruptFlag();

  /// The signal that came, or nothing.
  [[nodiscard]] std::optional<int> raised() const noexcept;
  /// Readable once a signal came; for poll, not for reading.
  [[nodiscard]] int fd() const noexcept;
  /// Forgets the signal.
  void clear() noexcept;

 private:
  UniqueFd event_;
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
  int owner_ = 0;
};

}  // namespace plab::os
