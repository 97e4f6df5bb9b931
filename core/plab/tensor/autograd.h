#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a tensor holds for gradients, and the plug through which nn records. The tape itself is in
// nn; here is only what a tensor must carry and what sharing must know.

#include <functional>
#include <memory>
#include <vector>

#include "plab/tensor/tensor.h"

namespace plab {

/// One recorded operation: from the gradient of its output to those of its inputs. nn derives.
class GradNode {
 public:
  virtual ~GradNode() = default;
};

/// The gradient side of a tensor; made on first use.
struct AutogradMeta {
  bool requires_grad = false;
  Tensor grad;
  std::shared_ptr<GradNode> grad_fn;  ///< null for a leaf
  struct Hook {
    std::size_t number;
    std::function<Tensor(const Tensor&)> call;
  };
  std::vector<Hook> hooks;
  std::size_t next_hook = 1;
};

/// Whether operations are recorded by this thread; on at the start.
[[nodiscard]] bool grad_enabled() noexcept;
void set_grad_enabled(bool on) noexcept;

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

}  // namespace plab
