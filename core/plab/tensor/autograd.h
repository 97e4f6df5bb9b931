#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a tensor holds for gradients, and the plug through which nn records. The tape itself is in
// nn; here is only what a tensor must carry, what sharing must know, and the table of recording
// versions that an operation goes to when an operand requires a gradient.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plab/tensor/tensor.h"

namespace plab {

/// Called with a gradient; may return another one (undefined: keep it).
struct GradHook {
  std::size_t number;
  std::function<Tensor(const Tensor&)> call;
};

/// One recorded operation: from the gradient of its output to those of its inputs. nn derives.
class GradNode {
 public:
  virtual ~GradNode() = default;
  /// What Tensor::str() shows in grad_fn=<...>, such as "AddBackward0".
  [[nodiscard]] virtual std::string_view name() const noexcept { return "Backward"; }
  /// Tensor::register_hook on a tensor with a grad_fn puts its hook here: it has to be called even
  /// if the tensor is gone by then.
  std::vector<GradHook> hooks;
};

/// The gradient side of a tensor; made on first use, never removed.
struct AutogradMeta {
  bool requires_grad = false;
  Tensor grad;
  std::shared_ptr<GradNode> grad_fn;  ///< null for a leaf
  using Hook = GradHook;
  std::vector<GradHook> hooks;  ///< of a leaf; those of others are in grad_fn->hooks
  std::size_t next_hook = 1;
  /// nn's node that adds to `grad`, while a graph holds it. Leaves only.
  std::weak_ptr<GradNode> accumulator;
  struct PostAccumulateHook {
    std::size_t number;
    std::function<void(const Tensor&)> call;
  };
  std::vector<PostAccumulateHook> post_accumulate_hooks;
};

namespace detail {
extern constinit thread_local bool grad_is_on;
}  // namespace detail

/// Whether operations are recorded by this thread; on at the start.
[[nodiscard]] inline bool grad_enabled() noexcept { return detail::grad_is_on; }
inline void set_grad_enabled(bool on) noexcept { detail::grad_is_on = on; }

/// Recording is off while it lives; restores what was there before.
class NoGrad {
 public:
  NoGrad() noexcept : before_(grad_enabled()) { set_grad_enabled(false); }
  ~NoGrad() { set_grad_enabled(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// The recording version of each differentiable operation. An operation of tensor/ops.h or of
/// Tensor calls its entry when this thread records and an operand requires a gradient, with the
/// arguments that it got itself, unchecked. An entry computes its result by calling the same
/// operation under NoGrad (so every check and kernel is written once), and sets requires_grad and
/// grad_fn in the result's autograd_or_create().
///
/// Not in the table, because they are never recorded: comparisons, argmax, detach, everything of
/// an integer result, and the in-place operations, which are refused while recording.
struct AutogradTable {
  using Unary = Tensor (*)(const Tensor& a);
  using Binary = Tensor (*)(const Tensor& a, const Tensor& b);
  using ToDim = Tensor (*)(const Tensor& a, std::int64_t dim);
  using Reduce = Tensor (*)(const Tensor& a, std::int64_t dim, bool keepdim);
  using ToShape = Tensor (*)(const Tensor& a, const Shape& shape);
  using Pick = Tensor (*)(const Tensor& a, std::int64_t dim, const Tensor& index);
  using Join = Tensor (*)(std::span<const Tensor> parts, std::int64_t dim);

  // element-wise; *_scalar: the second operand is a number (a + 2, a * 0.5)
  Binary add = nullptr;
  Binary sub = nullptr;
  Binary mul = nullptr;
  Binary div = nullptr;
  Binary maximum = nullptr;
  Tensor (*add_scalar)(const Tensor& a, double b) = nullptr;
  Tensor (*mul_scalar)(const Tensor& a, double b) = nullptr;
  Tensor (*pow)(const Tensor& a, double exponent) = nullptr;
  Unary neg = nullptr;
  Unary abs = nullptr;
  Unary exp = nullptr;
  Unary log = nullptr;
  Unary sqrt = nullptr;
  Unary tanh = nullptr;
  Unary relu = nullptr;

  // reductions; *_dim: over one dimension
  Unary sum = nullptr;
  Reduce sum_dim = nullptr;
  Unary mean = nullptr;
  Reduce mean_dim = nullptr;
  Unary max = nullptr;
  Unary min = nullptr;

  // products and what follows them
  Binary matmul = nullptr;
  Tensor (*linear)(const Tensor& x, const Tensor& weight, const Tensor& bias) = nullptr;
  ToDim log_softmax = nullptr;
  ToDim softmax = nullptr;

  // indexing and joining
  Pick gather = nullptr;
  Pick index_select = nullptr;
  Join cat = nullptr;
  Join stack = nullptr;

  // views (flatten, narrow, operator[] and t arrive as view, slice, select and transpose) and
  // copies
  ToShape view = nullptr;
  ToShape reshape = nullptr;
  Tensor (*slice)(const Tensor& a, std::int64_t dim, std::int64_t start, std::int64_t end,
                  std::int64_t step) = nullptr;
  Tensor (*select)(const Tensor& a, std::int64_t dim, std::int64_t index) = nullptr;
  Tensor (*transpose)(const Tensor& a, std::int64_t dim0, std::int64_t dim1) = nullptr;
  ToShape permute = nullptr;
  ToShape expand = nullptr;
  ToDim squeeze = nullptr;
  ToDim unsqueeze = nullptr;
  Unary clone = nullptr;  ///< contiguous() of a tensor that is not contiguous arrives here too
  Tensor (*to)(const Tensor& a, DType dtype) = nullptr;

  /// Tensor::backward.
  void (*backward)(const Tensor& root, const Tensor& gradient) = nullptr;
};

/// Puts the recording versions in place, for every thread of this process; once, before the first
/// recorded operation. @fork the child has them too.
void register_autograd(const AutogradTable& table) noexcept;
/// What is registered; all null when plab::nn is not linked.
[[nodiscard]] const AutogradTable& autograd_table() noexcept;

/// Whether an operation on `a` has to be recorded now by this thread. About 1 ns.
[[nodiscard]] inline bool is_recorded(const Tensor& a) noexcept {
  return grad_enabled() && a.requires_grad();
}

}  // namespace plab
