// SPDX-License-Identifier: Apache-2.0
#include "plab/parallel/lost_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

#include "plab/base/error.h"

namespace plab::parallel {

namespace {

// As wide as the vectors of the kernel that the probe stands for.
constexpr std::size_t kWidth = 4;

std::size_t blocks_of(std::size_t elements) { return (elements + kWidth - 1) / kWidth; }

}  // namespace

double LostUpdates::estimate() const noexcept {
  if (checked == 0) return 0;
  return static_cast<double>(lost) / static_cast<double>(checked) * static_cast<double>(stores);
}

LostUpdates& LostUpdates::operator+=(const LostUpdates& other) noexcept {
  checked += other.checked;
  lost += other.lost;
  stores += other.stores;
  return *this;
}

std::size_t exchange_checked(float* shared, const float* read, const float* updated,
                             std::size_t n) noexcept {
  std::size_t lost = 0;
  for (std::size_t i = 0; i < n; ++i) {
    // Relaxed: the exchange itself is atomic, and no other memory depends on it.
    const float before = std::atomic_ref(shared[i]).exchange(updated[i], std::memory_order_relaxed);
    lost += std::bit_cast<std::uint32_t>(before) != std::bit_cast<std::uint32_t>(read[i]) ? 1 : 0;
  }
  return lost;
}

ProbedSgd::ProbedSgd(std::vector<Tensor> parameters, const nn::SGDOptions& options,
                     ProbeOptions probe)
    : nn::SGD(std::move(parameters), options),
      options_(std::move(probe)),
      generator_(options_.seed) {
  if (options_.every < 0 || options_.probes < 0) {
    throw ContractError(
        fmt::format("[parallel.lost_updates] {} probes in every {} steps; give numbers from 0",
                    options_.probes, options_.every));
  }
  for (const Tensor& parameter : this->parameters()) {
    blocks_ += blocks_of(static_cast<std::size_t>(parameter.numel()));
  }
}

// Evenly spaced from a random start: each block, so each element, is as likely as any other.
void ProbedSgd::choose_places() {
  places_.clear();
  next_place_ = 0;
  before_ = 0;
  const bool probed = options_.every > 0 && step_number_ % options_.every == 0;
  const auto count = std::min(static_cast<std::size_t>(options_.probes), blocks_);
  if (!probed || count == 0) return;
  const std::size_t start = generator_.next_below(blocks_);
  for (std::size_t k = 0; k < count; ++k) {
    places_.push_back((start + k * blocks_ / count) % blocks_);
  }
  std::sort(places_.begin(), places_.end());
}

void ProbedSgd::step() {
  choose_places();
  nn::SGD::step();
  ++step_number_;
}

void ProbedSgd::probe(const kernels::SgdStep<float>& step, float* parameter, const float* gradient,
                      float* velocity, std::size_t n) {
  std::array<float, kWidth> read{};
  for (std::size_t i = 0; i < n; ++i) {
    read[i] = std::atomic_ref(parameter[i]).load(std::memory_order_relaxed);
  }
  std::array<float, kWidth> updated = read;
  kernels::sgd<float>(step, updated.data(), gradient, velocity, n);
  if (options_.between) options_.between();
  counts_.checked += static_cast<std::int64_t>(n);
  counts_.lost +=
      static_cast<std::int64_t>(exchange_checked(parameter, read.data(), updated.data(), n));
}

void ProbedSgd::update(const kernels::SgdStep<float>& step, float* parameter, const float* gradient,
                       float* velocity, std::size_t n) {
  const auto at = [velocity](std::size_t i) {
    return velocity == nullptr ? nullptr : velocity + i;
  };
  const std::size_t blocks = blocks_of(n);
  std::size_t done = 0;
  for (; next_place_ < places_.size() && places_[next_place_] < before_ + blocks; ++next_place_) {
    const std::size_t place = (places_[next_place_] - before_) * kWidth;
    const std::size_t width = std::min(kWidth, n - place);
    kernels::sgd<float>(step, parameter + done, gradient + done, at(done), place - done);
    probe(step, parameter + place, gradient + place, at(place), width);
    done = place + width;
  }
  kernels::sgd<float>(step, parameter + done, gradient + done, at(done), n - done);
  before_ += blocks;
  counts_.stores += static_cast<std::int64_t>(n);
}

}  // namespace plab::parallel
