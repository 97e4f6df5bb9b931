#pragma once
// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers. The stream depends on nothing but (seed, rank, worker), so every process
// and every loader worker has its own, and a run can be repeated.

#include <array>
#include <cstdint>

namespace plab {

/// The block cipher behind Generator: Philox 4x32 with ten rounds, as Random123 computes it.
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key) noexcept;

/// Counter-based (Philox 4x32-10, Salmon et al., SC 2011): streams of different keys do not
/// overlap. A value: a copy goes on from the same place. Not for use by two threads at once.
/// @fork parent and child go on with the same numbers; give the child a Generator of its own rank
class Generator {
 public:
  explicit Generator(std::uint64_t seed, std::uint32_t rank = 0, std::uint32_t worker = 0) noexcept;
  [[nodiscard]] std::uint32_t next_u32() noexcept;
  [[nodiscard]] std::uint64_t next_u64() noexcept;
  [[nodiscard]] double next_uniform() noexcept;  ///< in [0, 1), 53 bits
  [[nodiscard]] double next_normal() noexcept;   ///< mean 0, variance 1
  /// In [0, bound), without bias. `bound` 0 gives 0.
  [[nodiscard]] std::uint64_t next_below(std::uint64_t bound) noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

 private:
  std::uint64_t seed_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace plab
