// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/autograd.h"

#include <algorithm>

#include "plab/base/early.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

namespace detail {

constinit thread_local bool grad_is_on = true;

void check_in_place(const Tensor& target, std::string_view operation) {
  if (!is_recorded(target)) return;
  if (target.is_leaf()) {
    throw ContractError(fmt::format(
        "[tensor.{}] a leaf tensor that requires grad ({}) is being used in an in-place operation; "
        "change it under NoGrad",
        operation, describe(target)));
  }
  throw ContractError(fmt::format(
      "[tensor.{}] an in-place operation on a computed tensor that requires grad ({}) is not "
      "recorded; use the operation that makes a new tensor, or change it under NoGrad",
      operation, describe(target)));
}

}  // namespace detail

namespace {

AutogradTable& registered() noexcept {
  static AutogradTable instance;
  return instance;
}

const Early g_early_autograd([] { (void)registered(); });

/// Those of a leaf are its own, those of a result belong to the function that made it.
auto& hooks_of(AutogradMeta& meta) {
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): asked for null here
  return meta.grad_fn != nullptr ? meta.grad_fn->hooks : meta.hooks;
}

}  // namespace

void register_autograd(const AutogradTable& table) noexcept { registered() = table; }
const AutogradTable& autograd_table() noexcept { return registered(); }

AutogradMeta* Tensor::autograd() const noexcept { return impl_ ? impl_->autograd.get() : nullptr; }

AutogradMeta& Tensor::autograd_or_create() const {
  Impl& self = impl();
  if (!self.autograd) self.autograd = std::make_unique<AutogradMeta>();
  return *self.autograd;
}

bool Tensor::requires_grad() const noexcept {
  return impl_ && impl_->autograd && impl_->autograd->requires_grad;  // no call: it is asked often
}

bool Tensor::is_leaf() const noexcept {
  const AutogradMeta* const meta = autograd();
  return meta == nullptr || meta->grad_fn == nullptr;
}

const Tensor& Tensor::requires_grad_(bool on) const {
  if (!is_leaf()) {
    if (on) return *this;  // it does already
    throw ContractError(
        "[tensor.requires_grad_] only a leaf can be set not to require grad; this tensor was "
        "computed: use detach()");
  }
  if (on && !is_floating(dtype())) {
    throw ContractError(fmt::format(
        "[tensor.requires_grad_] a tensor {} cannot require grad; only floating ones can",
        detail::describe(*this)));
  }
  if (on || autograd() != nullptr) autograd_or_create().requires_grad = on;
  return *this;
}

Tensor Tensor::grad() const {
  const AutogradMeta* const meta = autograd();
  return meta != nullptr ? meta->grad : Tensor();
}

void Tensor::set_grad(const Tensor& grad) const {
  if (grad.defined() && (grad.sizes() != sizes() || grad.dtype() != dtype())) {
    throw ShapeError(fmt::format("[tensor.set_grad] gradient {} for a tensor {}; both must agree",
                                 detail::describe(grad), detail::describe(*this)));
  }
  if (grad.defined() || autograd() != nullptr) autograd_or_create().grad = grad;
}

Tensor Tensor::detach() const {
  const Impl& self = impl();
  return detail::TensorAccess::view(*this, self.sizes, self.strides, self.offset);
}

const Tensor& Tensor::set_data(const Tensor& source) const {
  if (source.sizes() != sizes() || source.dtype() != dtype()) {
    throw ShapeError(fmt::format("[tensor.set_data] elements {} for a tensor {}; both must agree",
                                 detail::describe(source), detail::describe(*this)));
  }
  Impl& self = impl();
  self.storage = source.storage();
  self.strides = source.strides();
  self.offset = source.storage_offset();
  self.contiguous = source.is_contiguous();
  return *this;
}

void Tensor::backward(const Tensor& gradient) const {
  static_cast<void>(impl());
  if (!requires_grad()) {
    throw ContractError(
        "[tensor.backward] the tensor does not require grad and was not computed from one that "
        "does; call requires_grad_() on a leaf before the computation");
  }
  detail::recorder(&AutogradTable::backward, "backward")(*this, gradient);
}

std::size_t Tensor::register_hook(std::function<Tensor(const Tensor&)> hook) const {
  static_cast<void>(impl());
  if (!requires_grad()) {
    throw ContractError(
        "[tensor.register_hook] cannot register a hook on a tensor that does not require grad");
  }
  AutogradMeta& meta = autograd_or_create();
  hooks_of(meta).push_back({meta.next_hook, std::move(hook)});
  return meta.next_hook++;
}

void Tensor::remove_hook(std::size_t number) const {
  AutogradMeta* const meta = autograd();
  if (meta == nullptr) return;
  std::erase_if(hooks_of(*meta), [number](const auto& hook) { return hook.number == number; });
}

}  // namespace plab
