// SPDX-License-Identifier: Apache-2.0
#include "plab/device/sim/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "plab/base/env.h"
#include "plab/base/error.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLAB_SIM_SANITIZED 1
#else
#define PLAB_SIM_SANITIZED 0
#endif

namespace plab::device::sim {

namespace {

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view valid) {
  throw ContractError(
      fmt::format("[device.settings] {}={} is not valid; give {}", name, value, valid));
}

void read_schedule(Settings& into) {
  const std::string value = env::get("PLAB_SIM_SCHEDULE").value_or("eager");
  constexpr std::string_view kRandom = "random:";
  if (value == "eager") return;
  if (value == "lazy") {
    into.schedule = Schedule::kLazy;
    return;
  }
  std::optional<std::uint64_t> seed;
  if (value.starts_with(kRandom)) {
    seed = number<std::uint64_t>(std::string_view(value).substr(kRandom.size()));
  }
  if (!seed) refuse("PLAB_SIM_SCHEDULE", value, "eager, lazy or random:SEED (random:7)");
  into.schedule = Schedule::kRandom;
  into.seed = *seed;
}

void read_choices(Settings& into) {
  const std::string clock = env::get("PLAB_SIM_CLOCK").value_or("virtual");
  if (clock == "real") {
    into.clock = Clock::kReal;
  } else if (clock == "off") {
    into.clock = Clock::kOff;
  } else if (clock != "virtual") {
    refuse("PLAB_SIM_CLOCK", clock, "virtual, real or off");
  }
  const std::string guard =
      env::get("PLAB_SIM_GUARD").value_or(PLAB_SIM_SANITIZED != 0 ? "off" : "serial");
  if (guard != "off" && guard != "serial") refuse("PLAB_SIM_GUARD", guard, "serial or off");
  // The two mappings of one memory would hide races and overruns from a sanitizer.
  if (guard == "serial" && PLAB_SIM_SANITIZED == 0) into.guard = Guard::kSerial;
  const std::string pageable = env::get("PLAB_SIM_PAGEABLE").value_or("early");
  if (pageable != "early" && pageable != "late") {
    refuse("PLAB_SIM_PAGEABLE", pageable, "early or late");
  }
  if (pageable == "late") into.pageable = Pageable::kLate;
  constexpr std::int64_t kLongestHold = 60'000;
  into.hold = std::chrono::milliseconds(
      env::get_int("PLAB_SIM_HOLD_MS", 1, kLongestHold).value_or(into.hold.count()));
}

/// "cudaMalloc:3:2": the third cudaMalloc of this process gives 2.
void read_failure(Settings& into) {
  const auto value = env::get("PLAB_SIM_FAIL");
  if (!value) return;
  const std::string_view text = *value;
  const std::size_t first = text.find(':');
  const std::size_t second = first == text.npos ? first : text.find(':', first + 1);
  if (second != text.npos && first > 0) {
    const auto count = number<std::int64_t>(text.substr(first + 1, second - first - 1));
    const auto code = number<int>(text.substr(second + 1));
    if (count && code && *count >= 1 && *code >= 1) {
      into.failure = Failure{std::string(text.substr(0, first)), *count, *code};
      return;
    }
  }
  refuse("PLAB_SIM_FAIL", text, "CALL:NUMBER:CODE, as in cudaMalloc:3:2");
}

/// As the driver reads it: a list of numbers that ends at the first that is none of a device; a
/// device given twice is an empty list.
std::vector<int> visible_devices(std::size_t count) {
  std::vector<int> all;
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  if (value == nullptr) {
    for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<int>(i));
    return all;
  }
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    const auto ordinal = number<int>(item);
    if (!ordinal || *ordinal < 0 || static_cast<std::size_t>(*ordinal) >= count) break;
    if (std::ranges::find(all, *ordinal) != all.end()) return {};
    all.push_back(*ordinal);
    rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return all;
}

Settings read() {
  Settings made;
  read_schedule(made);
  read_choices(made);
  read_failure(made);
  made.profile = load_profile(env::get("PLAB_SIM_PROFILE").value_or("pcie5x4"));
  made.visible = visible_devices(made.profile.devices.size());
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  made.launch_blocking = blocking != nullptr && std::string_view(blocking) == "1";
  return made;
}

}  // namespace

const Settings& settings() {
  // No lock: a process may fork while another of its threads is in here.
  static constinit std::atomic<const Settings*> known{nullptr};
  const Settings* found = known.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  auto made = std::make_unique<const Settings>(read());
  if (known.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *found;
}

}  // namespace plab::device::sim
