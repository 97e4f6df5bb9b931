// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/strategy.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "plab/base/env.h"
#include "plab/base/error.h"

namespace plab::shm {

namespace {

constexpr std::array<std::string_view, 2> kNames{"file_descriptor", "file_system"};

Strategy from_name(std::string_view name, std::string_view source) {
  const auto* const it = std::ranges::find(kNames, name);
  if (it == kNames.end()) {
    throw ContractError(
        fmt::format("[shm.strategy] {}\"{}\" is no sharing strategy; valid are {} "
                    "and {}",
                    source, name, kNames[0], kNames[1]));
  }
  return static_cast<Strategy>(it - kNames.begin());
}

std::atomic<Strategy>& current() {
  static std::atomic<Strategy> strategy = [] {
    const auto name = env::get("PLAB_SHARING_STRATEGY");
    return name ? from_name(*name, "PLAB_SHARING_STRATEGY=") : Strategy::kFileDescriptor;
  }();
  return strategy;
}

}  // namespace

std::span<const std::string_view> sharing_strategies() noexcept { return kNames; }

std::string_view name_of(Strategy strategy) noexcept {
  return kNames[static_cast<std::size_t>(strategy) % kNames.size()];
}

Strategy sharing_strategy() { return current().load(); }

void set_sharing_strategy(std::string_view name) { current().store(from_name(name, "")); }

void set_sharing_strategy(Strategy strategy) { current().store(strategy); }

}  // namespace plab::shm
