// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/node.h"

#include <fmt/format.h>

#include "plab/base/error.h"

namespace plab::nn {

namespace {

thread_local std::uint64_t next_sequence = 0;

// The edges that nobody else holds, found while a graph is taken apart in this thread.
thread_local std::vector<Edge>* orphans = nullptr;

void collect_orphans(std::span<Edge> edges, std::vector<Edge>& into) {
  for (auto& edge : edges) {
    if (edge.use_count() == 1) into.push_back(std::move(edge));
  }
}

}  // namespace

Node::Node(std::size_t inputs, const Tensor& output)
    : edges_(inputs), sequence_(next_sequence++), shape_(output.sizes()), dtype_(output.dtype()) {}

// Left to the members, the destructor of a chain of n operations would call itself n deep. So the
// outermost destructor keeps a list; those below only put their edges there.
Node::~Node() {
  if (orphans != nullptr) {
    collect_orphans(edges_.all(), *orphans);
    return;
  }
  std::vector<Edge> list;
  collect_orphans(edges_.all(), list);
  if (list.empty()) return;
  orphans = &list;
  while (!list.empty()) {
    const Edge last = std::move(list.back());
    list.pop_back();
  }
  orphans = nullptr;
}

AccumulateGrad::AccumulateGrad(Tensor leaf) : Node(0, leaf), leaf_(std::move(leaf)) {
  set_sequence(kLeafSequence);
}

void AccumulateGrad::apply(const Tensor& grad, std::span<Tensor> /*grads*/) { accumulate(grad); }

void AccumulateGrad::accumulate(Tensor grad) {
  AutogradMeta& meta = leaf_.autograd_or_create();
  if (meta.grad.defined()) {
    meta.grad.add_(grad);
  } else if (grad.use_count() == 1 && grad.storage().use_count() == 1 && grad.is_contiguous()) {
    meta.grad = std::move(grad);
  } else {
    meta.grad = grad.clone();
  }
  // By index: a hook may register or remove hooks.
  for (std::size_t i = 0; i < meta.post_accumulate_hooks.size(); ++i) {
    const auto hook = meta.post_accumulate_hooks[i].call;
    hook(leaf_);
  }
}

const Tensor& SavedTensor::get(const Node& node) const {
  if (released_) {
    throw ContractError(fmt::format(
        "[nn.engine] {}: trying to backward through the graph a second time, but what it saved "
        "was freed by the first; give Graph::kRetain to the first backward if you need two",
        node.name()));
  }
  if (tensor_.defined() && tensor_.version() != version_) {
    throw ContractError(fmt::format(
        "[nn.engine] {}: one of the variables needed for gradient computation has been modified "
        "by an inplace operation: a {} tensor of shape {} is at version {}, expected version {}; "
        "change it after the backward, or change a clone",
        node.name(), name_of(tensor_.dtype()), tensor_.sizes().str(), tensor_.version(), version_));
  }
  return tensor_;
}

Edge edge_of(const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  AutogradMeta* const meta = tensor.autograd();
  if (meta == nullptr || !meta->requires_grad) return nullptr;
  if (meta->grad_fn != nullptr) return std::static_pointer_cast<Node>(meta->grad_fn);
  if (auto held = meta->accumulator.lock()) return std::static_pointer_cast<Node>(held);
  auto made = std::make_shared<AccumulateGrad>(tensor);
  meta->accumulator = made;
  return made;
}

const Tensor& attach(const Tensor& output, std::shared_ptr<Node> node) {
  AutogradMeta& meta = output.autograd_or_create();
  meta.requires_grad = true;
  meta.grad_fn = std::move(node);
  return output;
}

}  // namespace plab::nn
