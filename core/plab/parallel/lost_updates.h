#pragma once
// SPDX-License-Identifier: Apache-2.0
// Counts the updates that Hogwild loses.
//
// Note: lost updates. Processes update shared parameters without a lock: load, compute, store. When
// process B stores to an element between A's load and A's store, A's store overwrites what B did:
// B's update is lost. The probe replaces A's store by an atomic exchange, which returns what it
// overwrites. If that is not what A had loaded, somebody else's update was lost just then.
//
// This is exact for the stores that are probed, with two limits: several foreign updates inside one
// window count as one, and a foreign update that left the same bits is not seen (nothing was lost).
// The total that LostUpdates::estimate() gives is extrapolated: it takes the probed stores, which
// are spread evenly over all elements, for the rest. An exchange waits for its cache line where a
// plain store is buffered, so the windows are alike but not the same length; trust the magnitude.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "plab/nn/optim.h"
#include "plab/tensor/random.h"

namespace plab::parallel {

struct LostUpdates {
  std::int64_t checked = 0;  ///< stores that were probed
  std::int64_t lost = 0;     ///< of these: how many overwrote another process's update
  std::int64_t stores = 0;   ///< all element updates, probed or not
  /// Lost among all stores, extrapolated; 0 when nothing was probed.
  [[nodiscard]] double estimate() const noexcept;
  LostUpdates& operator+=(const LostUpdates& other) noexcept;
};

/// Stores `updated` to `n` shared elements that held `read` when they were loaded, and returns how
/// many held something else by now. Each element is exchanged atomically.
[[nodiscard]] std::size_t exchange_checked(float* shared, const float* read, const float* updated,
                                           std::size_t n) noexcept;

struct ProbeOptions {
  int every = 4;   ///< probes in each such step; 0: never
  int probes = 8;  ///< in a probed step, each over four elements side by side
  std::uint64_t seed = 0;
  /// Called in each probe between load and store. For tests and labs: it opens the window.
  std::function<void()> between{};
};

/// nn::SGD that probes some of its stores. The parameters after a step are the same to the bit.
/// Costs about 1 us in a probed step.
class ProbedSgd final : public nn::SGD {
 public:
  /// @throws ContractError as nn::SGD, or for negative probe options
  ProbedSgd(std::vector<Tensor> parameters, const nn::SGDOptions& options, ProbeOptions probe = {});
  void step() override;
  [[nodiscard]] const LostUpdates& lost_updates() const noexcept { return counts_; }

 private:
  void update(const kernels::SgdStep<float>& step, float* parameter, const float* gradient,
              float* velocity, std::size_t n) override;
  void choose_places();
  void probe(const kernels::SgdStep<float>& step, float* parameter, const float* gradient,
             float* velocity, std::size_t n);

  ProbeOptions options_;
  LostUpdates counts_;
  Generator generator_;
  std::size_t blocks_ = 0;  // of four elements, over all parameters
  std::int64_t step_number_ = 0;
  std::vector<std::size_t> places_;  // of this step's probes: numbers of blocks
  std::size_t next_place_ = 0;
  std::size_t before_ = 0;  // blocks of the parameters that this step has done
};

}  // namespace plab::parallel
