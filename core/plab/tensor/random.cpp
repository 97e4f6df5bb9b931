// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/random.h"

#include <cmath>
#include <numbers>

namespace plab {

namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32U) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32U) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Generator::Generator(std::uint64_t seed, std::uint32_t rank, std::uint32_t worker) noexcept
    : seed_(seed), counter_{0, 0, worker, rank} {}

std::uint32_t Generator::next_u32() noexcept {
  if (used_ == 4) {
    block_ = philox4x32(
        counter_, {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U)});
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t Generator::next_u64() noexcept {
  const std::uint64_t low = next_u32();
  return low | (std::uint64_t{next_u32()} << 32U);
}

double Generator::next_uniform() noexcept {
  return static_cast<double>(next_u64() >> 11U) * 0x1p-53;
}

double Generator::next_normal() noexcept {  // Box-Muller: two at a time, the second is kept
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - next_uniform()));  // of (0, 1]
  const double angle = 2 * std::numbers::pi * next_uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::uint64_t Generator::next_below(std::uint64_t bound) noexcept {
  if (bound == 0) return 0;
  // numbers under 2^64 mod bound would come up once more than the others
  const std::uint64_t surplus = (0 - bound) % bound;
  while (true) {
    const std::uint64_t x = next_u64();
    if (x >= surplus) return x % bound;
  }
}

}  // namespace plab
