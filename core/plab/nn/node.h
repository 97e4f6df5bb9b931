#pragma once
// SPDX-License-Identifier: Apache-2.0
// The tape: one Node for each recorded operation. A node knows where the gradients of its inputs go
// (its edges) and holds what it needs to compute them (its saved tensors). The engine
// (nn/engine.h) walks the nodes from the loss back to the leaves.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "plab/tensor/autograd.h"
#include "plab/tensor/tensor.h"

namespace plab::nn {

class Node;
class BackwardRun;

/// Where the gradient of one input goes; null when that input needs none.
using Edge = std::shared_ptr<Node>;

/// The edges of a node: up to three lie in the node itself, so that a usual operation costs one
/// allocation.
class Edges {
 public:
  static constexpr std::size_t kInline = 3;
  Edges() = default;
  explicit Edges(std::size_t count) : count_(count) {
    if (count > kInline) more_.resize(count);
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] Edge& operator[](std::size_t i) noexcept { return data()[i]; }
  [[nodiscard]] const Edge& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] std::span<Edge> all() noexcept { return {data(), count_}; }
  [[nodiscard]] std::span<const Edge> all() const noexcept { return {data(), count_}; }

 private:
  [[nodiscard]] Edge* data() noexcept { return count_ > kInline ? more_.data() : few_; }
  [[nodiscard]] const Edge* data() const noexcept { return count_ > kInline ? more_.data() : few_; }
  Edge few_[kInline];
  std::vector<Edge> more_;
  std::size_t count_ = 0;
};

/// One recorded operation with one output.
///
/// @threads a node takes part in one backward at a time; graphs that share no node may run in
/// different threads
class Node : public GradNode {
 public:
  Node(std::size_t inputs, const Tensor& output);
  /// Takes the graph behind it apart without recursion: a chain of any length is fine.
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// PyTorch's name of the operation, for example "AddBackward0".
  [[nodiscard]] std::string_view name() const noexcept override = 0;
  /// From the gradient of the output to those of the inputs: fills grads[i] where needs(i). One
  /// left undefined counts as zero. Runs with recording off.
  virtual void apply(const Tensor& grad, std::span<Tensor> grads) = 0;
  /// Forgets the saved tensors; called after apply() unless the graph is retained.
  virtual void release() noexcept {}

  [[nodiscard]] bool needs(std::size_t input) const noexcept { return edges_[input] != nullptr; }
  [[nodiscard]] std::span<const Edge> edges() const noexcept { return edges_.all(); }
  void set_edge(std::size_t input, Edge edge) noexcept { edges_[input] = std::move(edge); }
  /// Grows with each node that this process records; a leaf's is the greatest, so it runs first.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }  ///< of the output
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }         ///< of the output

 protected:
  static constexpr std::uint64_t kLeafSequence = UINT64_MAX;
  void set_sequence(std::uint64_t sequence) noexcept { sequence_ = sequence; }

 private:
  friend class BackwardRun;
  Edges edges_;
  std::uint64_t sequence_;
  Shape shape_;
  DType dtype_;
  // Used by the one backward that runs over this node; `run_` is its number, 0 when none does.
  std::atomic<std::uint64_t> run_{0};
  std::uint32_t missing_ = 0;   // gradients that have not arrived
  bool pending_owned_ = false;  // pending_ is our own sum, so that it may be added to in place
  Tensor pending_;
};

/// The end of the tape: adds what arrives to the gradient of a leaf and calls the leaf's hooks.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor leaf);
  [[nodiscard]] std::string_view name() const noexcept override { return "AccumulateGrad"; }
  /// Adds `grad` to the leaf's gradient: in place when there is one (a view of a DDP bucket stays
  /// one). Otherwise `grad` itself becomes the gradient when nobody else holds its memory, or a
  /// copy of it. Then the post-accumulate hooks are called.
  void apply(const Tensor& grad, std::span<Tensor> grads) override;
  void accumulate(Tensor grad);
  [[nodiscard]] const Tensor& leaf() const noexcept { return leaf_; }

 private:
  Tensor leaf_;
};

/// A tensor kept for the backward, with the number of in-place changes that it had then.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& tensor)
      : tensor_(tensor), version_(tensor.defined() ? tensor.version() : 0) {}
  /// @throws ContractError when it was released ("backward through the graph a second time") or
  /// changed in place by this process since it was saved. Changes by other processes (Hogwild) are
  /// not seen, on purpose.
  [[nodiscard]] const Tensor& get(const Node& node) const;
  void release() noexcept {
    tensor_ = Tensor();
    released_ = true;
  }

 private:
  Tensor tensor_;
  std::uint64_t version_ = 0;
  bool released_ = false;
};

/// Where the gradient of `tensor` goes: its operation, or for a leaf that requires one its
/// accumulator (the same as long as anyone holds it). Null when none is required.
[[nodiscard]] Edge edge_of(const Tensor& tensor);

/// Makes `output` the result of `node`.
const Tensor& attach(const Tensor& output, std::shared_ptr<Node> node);

}  // namespace plab::nn
