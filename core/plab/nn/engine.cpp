// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "plab/base/error.h"
#include "plab/nn/reduce.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

// One call of backward(). The fields that it needs for each node lie in the node, so a step does
// not fill a map; the destructor puts them back, also after an exception.
class BackwardRun {
 public:
  BackwardRun() noexcept : number_(next_number()), outer_(current) { current = this; }
  ~BackwardRun();
  BackwardRun(const BackwardRun&) = delete;
  BackwardRun& operator=(const BackwardRun&) = delete;

  void seed(const Tensor& root, const Tensor& gradient);
  void run(Graph graph);
  void queue(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

  static thread_local BackwardRun* current;

 private:
  static std::uint64_t next_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  bool claim(Node& node);
  void discover();
  static void deliver(Node& node, Tensor gradient);
  void run_node(Node& node, Graph graph);
  void push(Node& node);
  Node& pop();
  static bool runs_later(const Node* a, const Node* b) noexcept {
    return a->sequence() < b->sequence();
  }

  std::uint64_t number_;
  BackwardRun* outer_;
  std::vector<Edge> roots_;
  std::vector<Node*> claimed_;  // kept alive by the roots
  std::vector<Node*> ready_;    // a heap, the latest recorded on top
  std::vector<std::function<void()>> callbacks_;
};

thread_local BackwardRun* BackwardRun::current = nullptr;

BackwardRun::~BackwardRun() {
  for (Node* const node : claimed_) {
    node->pending_ = Tensor();
    node->pending_owned_ = false;
    node->missing_ = 0;
    node->run_.store(0, std::memory_order_release);  // pairs with the acquire in claim()
  }
  current = outer_;
}

bool BackwardRun::claim(Node& node) {
  std::uint64_t owner = 0;
  if (node.run_.compare_exchange_strong(owner, number_, std::memory_order_acquire)) {
    claimed_.push_back(&node);
    return true;
  }
  if (owner == number_) return false;
  throw ContractError(fmt::format(
      "[nn.engine] {} is part of a backward that is still running, in another thread or around "
      "this hook; run one backward at a time over a graph",
      node.name()));
}

void BackwardRun::seed(const Tensor& root, const Tensor& gradient) {
  const Edge edge = edge_of(root);
  if (edge == nullptr) {
    throw ContractError(
        "[nn.engine] the tensor that backward() was called on does not require grad and does not "
        "have a grad_fn; compute it from a tensor with requires_grad_() while gradients are on");
  }
  roots_.push_back(edge);  // before claim(): what is claimed must live until the end
  claim(*edge);
  if (gradient.defined()) {
    if (gradient.sizes() != root.sizes()) {
      throw ShapeError(
          fmt::format("[nn.engine] gradient has shape {}, the tensor {}; give one of "
                      "the same shape",
                      gradient.sizes().str(), root.sizes().str()));
    }
    deliver(*edge, gradient);
  } else {
    if (root.numel() != 1) {
      throw ShapeError(
          fmt::format("[nn.engine] grad can be implicitly created only for scalar "
                      "outputs, this tensor has shape {}; call sum() or mean() first, "
                      "or give backward() a gradient of that shape",
                      root.sizes().str()));
    }
    deliver(*edge, Tensor::ones(root.sizes(), root.dtype()));
  }
}

void BackwardRun::discover() {
  std::vector<Node*> stack(claimed_);
  while (!stack.empty()) {
    Node* const node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->edges()) {
      if (edge == nullptr) continue;
      if (claim(*edge)) stack.push_back(edge.get());  // first: the node may be another run's
      ++edge->missing_;
    }
  }
}

void BackwardRun::deliver(Node& node, Tensor gradient) {
  if (gradient.dtype() != node.dtype_) gradient = gradient.to(node.dtype_);
  if (gradient.sizes() != node.shape_) gradient = sum_to(gradient, node.shape_, node.name());
  if (!node.pending_.defined()) {
    node.pending_ = std::move(gradient);
  } else if (node.pending_owned_) {
    node.pending_.add_(gradient);
  } else {
    node.pending_ = add(node.pending_, gradient);
    node.pending_owned_ = true;
  }
}

namespace {

// The hooks of a tensor see its complete gradient, each what the one before returned.
void run_hooks(const std::vector<GradHook>& hooks, const Node& node, Tensor& grad) {
  for (std::size_t i = 0; i < hooks.size(); ++i) {  // a hook may register or remove hooks
    const auto hook = hooks[i].call;
    Tensor other = hook(grad);
    if (!other.defined()) continue;
    if (other.sizes() != node.shape()) {
      throw ShapeError(
          fmt::format("[nn.engine] a hook returned a gradient of shape {} for a "
                      "tensor of shape {}; return one of the same shape",
                      other.sizes().str(), node.shape().str()));
    }
    grad = other.dtype() == node.dtype() ? std::move(other) : other.to(node.dtype());
  }
}

}  // namespace

void BackwardRun::run_node(Node& node, Graph graph) {
  Tensor grad = std::move(node.pending_);
  node.pending_ = Tensor();
  const auto edges = node.edges();
  std::array<Tensor, Edges::kInline> few;
  std::vector<Tensor> many(edges.size() > few.size() ? edges.size() : 0);
  const std::span<Tensor> grads =
      many.empty() ? std::span(few).first(edges.size()) : std::span<Tensor>(many);
  if (grad.defined()) {
    if (node.sequence() == Node::kLeafSequence) {
      auto& leaf = static_cast<AccumulateGrad&>(node);
      run_hooks(leaf.leaf().autograd_or_create().hooks, node, grad);
      leaf.accumulate(std::move(grad));
    } else {
      run_hooks(node.hooks, node, grad);
      node.apply(grad, grads);
      if (graph == Graph::kRelease) node.release();
    }
  }
  grad = Tensor();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i] == nullptr) continue;
    if (grads[i].defined()) deliver(*edges[i], std::move(grads[i]));
    if (--edges[i]->missing_ == 0) push(*edges[i]);
  }
}

void BackwardRun::push(Node& node) {
  ready_.push_back(&node);
  std::push_heap(ready_.begin(), ready_.end(), runs_later);
}

Node& BackwardRun::pop() {
  std::pop_heap(ready_.begin(), ready_.end(), runs_later);
  Node& node = *ready_.back();
  ready_.pop_back();
  return node;
}

void BackwardRun::run(Graph graph) {
  const NoGrad no_grad;
  discover();
  for (const Edge& root : roots_) {
    const bool is_new = std::find(ready_.begin(), ready_.end(), root.get()) == ready_.end();
    if (root->missing_ == 0 && is_new) push(*root);
  }
  while (!ready_.empty()) run_node(pop(), graph);
  for (std::size_t i = 0; i < callbacks_.size(); ++i) {  // a callback may queue another
    const auto callback = std::move(callbacks_[i]);
    callback();
  }
}

void backward(const Tensor& root, const Tensor& gradient, Graph graph) {
  BackwardRun run;
  run.seed(root, gradient);
  run.run(graph);
}

void backward(std::span<const Tensor> roots, std::span<const Tensor> gradients, Graph graph) {
  if (!gradients.empty() && gradients.size() != roots.size()) {
    throw ContractError(
        fmt::format("[nn.engine] backward() got {} tensors and {} gradients; give one gradient for "
                    "each tensor, or none",
                    roots.size(), gradients.size()));
  }
  BackwardRun run;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    run.seed(roots[i], gradients.empty() ? Tensor() : gradients[i]);
  }
  run.run(graph);
}

bool in_backward() noexcept { return BackwardRun::current != nullptr; }

void queue_callback(std::function<void()> callback) {
  if (!in_backward()) {
    throw ContractError(
        "[nn.engine] queue_callback() outside a backward; call it from a gradient hook");
  }
  BackwardRun::current->queue(std::move(callback));
}

std::size_t register_post_accumulate_grad_hook(const Tensor& leaf,
                                               std::function<void(const Tensor&)> hook) {
  if (!leaf.requires_grad() || !leaf.is_leaf()) {
    throw ContractError(
        "[nn.engine] post accumulate grad hooks are for leaf tensors that require a gradient; for "
        "others use register_hook");
  }
  AutogradMeta& meta = leaf.autograd_or_create();
  const std::size_t number = meta.next_hook++;
  meta.post_accumulate_hooks.push_back({number, std::move(hook)});
  return number;
}

void remove_post_accumulate_grad_hook(const Tensor& leaf, std::size_t number) {
  if (AutogradMeta* const meta = leaf.autograd()) {
    std::erase_if(meta->post_accumulate_hooks, [&](const auto& h) { return h.number == number; });
  }
}

std::vector<Tensor> reachable_leaves(std::span<const Tensor> outputs) {
  std::vector<Tensor> leaves;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> level;
  std::vector<Edge> roots;
  for (const Tensor& output : outputs) {
    Edge edge = edge_of(output);
    if (edge == nullptr || !seen.insert(edge.get()).second) continue;
    level.push_back(edge.get());
    roots.push_back(std::move(edge));
  }
  for (std::size_t next = 0; next < level.size(); ++next) {
    const Node* const node = level[next];
    if (const auto* const leaf = dynamic_cast<const AccumulateGrad*>(node)) {
      leaves.push_back(leaf->leaf());
    }
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): no null is ever in `level`
    for (const Edge& edge : node->edges()) {
      if (edge != nullptr && seen.insert(edge.get()).second) level.push_back(edge.get());
    }
  }
  return leaves;
}

}  // namespace plab::nn
