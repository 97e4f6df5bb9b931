// SPDX-License-Identifier: Apache-2.0
#include "plab/parallel/hogwild_board.h"

#include <bit>

#include "plab/base/deadline.h"

namespace plab::parallel {

HogwildBoard HogwildBoard::make(int processes) {
  HogwildBoard board;
  board.words_ = Tensor::zeros({processes + 1, kLine}, DType::kI64);
  board.curves_ = Tensor::zeros({processes, kMostPoints, kPointFields}, DType::kF64);
  board.words_.share_memory();
  board.curves_.share_memory();
  return board;
}

void HogwildBoard::arrive() const {
  if (word(kArrived).fetch_add(1) + 1 == processes()) word(kStart).store(monotonic_ns());
}

void HogwildBoard::add_point(int rank, const LossPoint& point) const {
  const std::int64_t count = get(rank, kPoints);
  if (count == kMostPoints) return;
  double* const to = curves_.data<double>() + (rank * kMostPoints + count) * kPointFields;
  to[0] = point.seconds;
  to[1] = static_cast<double>(point.step);
  to[2] = point.loss;
  line(rank, kPoints).store(count + 1, std::memory_order_release);
}

WorkerProgress HogwildBoard::progress(int rank) const {
  return {get(rank, kSteps), get(rank, kWanted),
          std::bit_cast<float>(static_cast<std::int32_t>(get(rank, kLoss)))};
}

WorkerResult HogwildBoard::result(int rank) const {
  WorkerResult result{progress(rank), {}, {}};
  const std::int64_t count = line(rank, kPoints).load(std::memory_order_acquire);
  const double* from = curves_.data<double>() + rank * kMostPoints * kPointFields;
  for (std::int64_t i = 0; i < count; ++i, from += kPointFields) {
    result.curve.push_back({from[0], static_cast<std::int64_t>(from[1]), from[2]});
  }
  result.lost_updates = {get(rank, kChecked), get(rank, kLost), get(rank, kStores)};
  return result;
}

}  // namespace plab::parallel
