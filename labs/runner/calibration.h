#pragma once
// SPDX-License-Identifier: Apache-2.0
// How fast this machine is, so that limits are multiples of it. `lab doctor` measures and keeps it
// in the build folder; a check measures when nobody has yet.

#include <string>

#include "pace.h"
#include "verb.h"

namespace plab::lab {

struct Calibration {
  double compute_ms = 0;  ///< a fixed piece of arithmetic
  double process_ms = 0;  ///< to make a process by fork and wait for its end
  double switch_us = 0;   ///< to send a byte to another process and get one back

  /// What a small case of a check takes here, in seconds: some arithmetic, eight processes, a
  /// thousand messages to and fro. Never less than 40 ms: waits that end by a deadline don't get
  /// shorter on a fast machine.
  [[nodiscard]] double unit() const noexcept;
  [[nodiscard]] std::string text() const;
};

/// Takes about a fifth of a second. Starts some processes; none is left.
[[nodiscard]] Calibration measure_machine();
/// Measures and keeps it. Trouble with the file is told, not thrown.
Calibration calibrate(const Context& context);
/// What was kept; measures when there is nothing that can be read.
[[nodiscard]] Calibration calibration_of(const Context& context);

}  // namespace plab::lab
