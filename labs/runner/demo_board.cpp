// SPDX-License-Identifier: Apache-2.0
#include "demo_board.h"

#include "plab/os/futex.h"

namespace plab::lab {

Tensor Board::make(int ranks) {
  const Tensor board = Tensor::zeros(Shape{(ranks + 1) * kLine}, DType::kI64);
  board.share_memory();
  return board;
}

void Board::give(Order order) const noexcept {
  order_word().store(static_cast<std::uint32_t>(order));
  os::futex_wake(order_word(), os::kWakeAll);
}

Board::Order Board::order() const noexcept { return static_cast<Order>(order_word().load()); }

Board::Order Board::wait_for_order(Deadline deadline) const {
  while (order() == Order::kWait && !deadline.expired()) {
    os::futex_wait(order_word(), static_cast<std::uint32_t>(Order::kWait), deadline);
  }
  return order();
}

void Board::count_step(int rank, float loss) const noexcept {
  word(rank, kLoss).store(std::bit_cast<std::uint32_t>(loss), std::memory_order_relaxed);
  const auto steps = word(rank, kSteps);
  steps.store(steps.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace plab::lab
