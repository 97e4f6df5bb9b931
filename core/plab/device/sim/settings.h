#pragma once
// SPDX-License-Identifier: Apache-2.0
// How this process's devices are simulated: the variables PLAB_SIM_* and CUDA's own.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plab/device/sim/profile.h"

namespace plab::device::sim {

enum class Schedule : std::uint8_t { kEager, kLazy, kRandom };
enum class Clock : std::uint8_t { kVirtual, kReal, kOff };
enum class Guard : std::uint8_t { kOff, kSerial };
/// When the bytes of a pageable source are taken: at the call, or when the copy runs.
enum class Pageable : std::uint8_t { kEarly, kLate };

/// "The n-th call of this name gives this code."
struct Failure {
  std::string call;
  std::int64_t number = 1;
  int code = 0;
};

struct Settings {
  Schedule schedule = Schedule::kEager;
  std::uint64_t seed = 0;
  Clock clock = Clock::kVirtual;
  Guard guard = Guard::kOff;
  Pageable pageable = Pageable::kEarly;
  std::chrono::milliseconds hold{200};  ///< after which an operation runs unasked
  bool launch_blocking = false;         ///< CUDA_LAUNCH_BLOCKING
  Profile profile;
  std::vector<int> visible;  ///< the physical devices that this process sees, by ordinal
  std::optional<Failure> failure;
};

/// Read at the first call and the same from then on.
/// @throws ContractError for a value that is not valid, at every call
[[nodiscard]] const Settings& settings();

}  // namespace plab::device::sim
