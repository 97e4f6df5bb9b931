#pragma once
// SPDX-License-Identifier: Apache-2.0
// Whether a program still gets anywhere. Nothing here goes by the clock alone: on a busy machine a
// sound program takes any time, so what counts is what happened and what it computed.

#include <cstdint>
#include <map>

namespace plab::lab {

/// All in seconds.
struct Limits {
  double quiet = 30;    ///< without any event and without computing: stuck
  double compute = 30;  ///< that one process may compute without any event: stuck too
  double total = 120;   ///< that a program may take as long as it gets somewhere: slow after that

  /// The usual proportions.
  [[nodiscard]] static constexpr Limits of(double seconds) noexcept {
    return {.quiet = seconds, .compute = seconds, .total = 4 * seconds};
  }
};

/// What can be seen of the program at one moment.
struct PaceSample {
  double at = 0;              ///< since its start, in seconds
  std::uint64_t events = 0;   ///< changes whenever anything happens: a message, a lock, a print
  std::map<int, double> cpu;  ///< by pid: what each living process has computed, in seconds
  bool has_runnable = false;  ///< some thread runs, or would if a core were free
};

/// Takes samples one after the other and says when it is enough.
class Pace {
 public:
  enum class Says {
    kGoOn,
    kQuiet,     ///< nothing has happened, and nothing was computed
    kComputes,  ///< one process computes, and nothing else has happened
    kSlow,      ///< it gets somewhere, but does not get done
  };
  explicit Pace(const Limits& limits) noexcept : limits_(limits) {}
  [[nodiscard]] Says take(const PaceSample& sample);

 private:
  Limits limits_;
  void open_window(const PaceSample& sample);
  [[nodiscard]] bool was_quiet(const PaceSample& sample) const;

  bool first_ = true;
  std::uint64_t events_ = 0;        // at the last sample
  std::map<int, double> at_event_;  // what each process had computed at the last event
  // The window in which nothing has happened; a new one begins when this one was not quiet.
  double opened_ = 0;
  std::map<int, double> at_opening_;
  int samples_ = 0;
  int runnable_ = 0;
};

}  // namespace plab::lab
