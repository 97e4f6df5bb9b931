#pragma once
// SPDX-License-Identifier: Apache-2.0
// How an operation is recorded with little text. An operation is a struct that holds what its
// backward needs:
//
//   struct Exp : Saves<1> {
//     static constexpr std::string_view kName = "ExpBackward0";
//     void backward(const Node& node, const Tensor& grad, std::span<Tensor> grads) {
//       grads[0] = mul(grad, saved[0].get(node));
//     }
//   };
//
// A gradient may have the shape that the input was broadcast to, and another floating dtype: the
// engine sums and converts.

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "plab/nn/node.h"
#include "plab/tensor/tensor.h"

namespace plab::nn {

/// Base of an operation that keeps `K` tensors for its backward.
template <std::size_t K>
struct Saves {
  std::array<SavedTensor, K> saved;
};

/// The node of an operation `Op`.
template <typename Op>
class OpNode final : public Node {
 public:
  OpNode(std::size_t inputs, const Tensor& output, Op op)
      : Node(inputs, output), op_(std::move(op)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return Op::kName; }
  void apply(const Tensor& grad, std::span<Tensor> grads) override {
    op_.backward(*this, grad, grads);
  }
  void release() noexcept override {
    for (auto& tensor : op_.saved) tensor.release();
  }

 private:
  Op op_;
};

/// `output`, now recorded as the result of `op` on `inputs`.
template <typename Op, typename... Inputs>
Tensor record(Tensor output, Op op, const Inputs&... inputs) {
  auto node = std::make_shared<OpNode<Op>>(sizeof...(inputs), output, std::move(op));
  std::size_t i = 0;
  (node->set_edge(i++, edge_of(inputs)), ...);
  attach(output, std::move(node));
  return output;
}

/// The same bytes as `output` without its grad_fn: how an operation saves its own result. Saving
/// `output` itself would make it own its node and the node own it, for ever.
inline SavedTensor save_result(const Tensor& output) { return SavedTensor(output.detach()); }

/// `tensor` saved if the gradient of `input` will need it.
inline SavedTensor save_for(const Tensor& input, const Tensor& tensor) {
  return input.requires_grad() ? SavedTensor(tensor) : SavedTensor();
}

}  // namespace plab::nn
