// SPDX-License-Identifier: Apache-2.0
#include "calibration.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "plab/base/deadline.h"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/pipe.h"
#include "plab/os/process.h"

namespace plab::lab {

namespace {

constexpr double kLeastUnit = 0.04;
constexpr int kTimes = 3;  // the fastest counts: the others were disturbed

/// Milliseconds of the fastest of some calls.
template <typename Work>
double fastest_ms(Work work) {
  std::int64_t best = INT64_MAX;
  for (int i = 0; i < kTimes; ++i) {
    const std::int64_t start = monotonic_ns();
    work();
    best = std::min(best, monotonic_ns() - start);
  }
  return static_cast<double>(best) / 1e6;
}

double compute_ms() {
  return fastest_ms([] {
    volatile std::uint64_t keep = 1;  // so that the compiler does not leave it out
    std::uint64_t x = keep;
    for (int i = 0; i < 20'000'000; ++i) x = x * 6364136223846793005U + 1442695040888963407U;
    keep = x;
  });
}

double process_ms() {
  constexpr int kProcesses = 8;
  return fastest_ms([] {
           for (int i = 0; i < kProcesses; ++i) {
             auto child = os::fork_process();
             if (!child) ::_exit(0);
             (void)child->wait(Deadline::never());
           }
         }) /
         kProcesses;
}

double switch_us() {
  constexpr int kRounds = 500;
  os::Pipe there = os::create_pipe();
  os::Pipe back = os::create_pipe();
  auto child = os::fork_process();
  std::array<std::byte, 1> byte{};
  if (!child) {
    there.write.reset();
    while (os::read_full(there.read.get(), byte, Deadline::never()) == 1) {
      os::write_full(back.write.get(), byte, Deadline::never());
    }
    ::_exit(0);
  }
  const double ms = fastest_ms([&] {
    for (int i = 0; i < kRounds; ++i) {
      os::write_full(there.write.get(), byte, Deadline::never());
      (void)os::read_full(back.read.get(), byte, Deadline::never());
    }
  });
  there.write.reset();
  (void)child->wait(Deadline::never());
  return ms * 1000 / kRounds;
}

std::filesystem::path file_of(const Context& context) {
  return context.build / ".lab" / "calibration.json";
}

}  // namespace

double Calibration::unit() const noexcept {
  return std::max(kLeastUnit, (compute_ms + 8 * process_ms + 1000 * switch_us / 1000) / 1000);
}

std::string Calibration::text() const {
  return fmt::format(
      "arithmetic {:.0f} ms, a process {:.2f} ms, a message and its answer {:.0f} us", compute_ms,
      process_ms, switch_us);
}

Calibration measure_machine() {
  return {.compute_ms = compute_ms(), .process_ms = process_ms(), .switch_us = switch_us()};
}

Calibration calibrate(const Context& context) {
  const Calibration now = measure_machine();
  const nlohmann::json kept{
      {"compute_ms", now.compute_ms}, {"process_ms", now.process_ms}, {"switch_us", now.switch_us}};
  try {
    std::filesystem::create_directories(file_of(context).parent_path());
    os::write_file(file_of(context), kept.dump(2) + "\n");
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lab: how fast this machine is was not kept: {}\n", problem.what());
  }
  return now;
}

Calibration calibration_of(const Context& context) {
  try {
    const auto kept = nlohmann::json::parse(os::read_file(file_of(context)));
    return {.compute_ms = kept.at("compute_ms"),
            .process_ms = kept.at("process_ms"),
            .switch_us = kept.at("switch_us")};
  } catch (const std::exception&) {
    return calibrate(context);
  }
}

}  // namespace plab::lab
