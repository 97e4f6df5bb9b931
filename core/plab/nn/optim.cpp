// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/optim.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>

#include "plab/base/error.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/kernels.h"

namespace plab::nn {

namespace {

void check_not_negative(std::string_view name, double value) {
  if (!(value >= 0) || std::isinf(value)) {
    throw ContractError(
        fmt::format("[nn.optim] {} is {}; give a number that is not negative", name, value));
  }
}

void check_parameter(std::size_t i, const Tensor& parameter) {
  if (!parameter.defined()) {
    throw ContractError(fmt::format("[nn.optim] parameter {} is undefined", i));
  }
  if (!parameter.is_leaf()) {
    throw ContractError(
        fmt::format("[nn.optim] parameter {} is the result of an operation; only a "
                    "leaf can be optimized",
                    i));
  }
  if (parameter.dtype() != DType::kF32 && parameter.dtype() != DType::kF64) {
    throw DTypeError(fmt::format("[nn.optim] parameter {} is {}; use float32 or float64", i,
                                 name_of(parameter.dtype())));
  }
}

}  // namespace

Optimizer::Optimizer(std::vector<Tensor> parameters, double lr,
                     std::vector<std::string> state_names)
    : parameters_(std::move(parameters)),
      slots_(parameters_.size()),
      state_names_(std::move(state_names)),
      lr_(lr) {
  check_not_negative("lr", lr);
  if (parameters_.empty()) {
    throw ContractError(
        "[nn.optim] optimizer got an empty parameter list; give it model.parameters()");
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) check_parameter(i, parameters_[i]);
}

void Optimizer::set_lr(double lr) {
  check_not_negative("lr", lr);
  lr_ = lr;
}

void Optimizer::make_slot(Slot& slot, const Tensor& parameter) const {
  slot.steps = Tensor::zeros({1}, DType::kI64);
  for (std::size_t k = 0; k < state_names_.size(); ++k) {
    slot.values.push_back(Tensor::zeros(parameter.sizes(), parameter.dtype()));
  }
}

Optimizer::Slot& Optimizer::slot(std::size_t i) {
  Slot& slot = slots_[i];
  if (!slot.steps.defined()) make_slot(slot, parameters_[i]);
  return slot;
}

std::int64_t Optimizer::count_step(const Slot& slot) noexcept {
  // Relaxed: the number orders nothing, it has only to be counted once.
  return std::atomic_ref(*slot.steps.data<std::int64_t>()).fetch_add(1, std::memory_order_relaxed) +
         1;
}

void Optimizer::share_memory() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& made = slot(i);
    made.steps.share_memory();
    for (const Tensor& value : made.values) value.share_memory();
  }
}

template <typename F>
void Optimizer::for_each_gradient(F&& run) {
  const NoGrad no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i];
    const AutogradMeta* const meta = parameter.autograd();
    if (meta == nullptr || !meta->grad.defined()) continue;
    const Tensor gradient = meta->grad.contiguous();
    if (parameter.is_contiguous()) {
      run(i, parameter, gradient);
      parameter.storage().bump_version();
    } else {
      const Tensor copy = parameter.contiguous();
      run(i, copy, gradient);
      parameter.copy_(copy);
    }
  }
}

SGD::SGD(std::vector<Tensor> parameters, const SGDOptions& options)
    : Optimizer(std::move(parameters), options.lr,
                // with momentum switched on later by load_state_dict the buffer is needed, too
                {"momentum_buffer"}),
      options_(options) {
  check_not_negative("momentum", options.momentum);
  check_not_negative("weight_decay", options.weight_decay);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    throw ContractError(
        fmt::format("[nn.optim] Nesterov momentum with momentum {} and dampening {}; it requires a "
                    "momentum and zero dampening",
                    options.momentum, options.dampening));
  }
}

std::vector<Optimizer::Option> SGD::options() {
  return {{"momentum", &options_.momentum},
          {"dampening", &options_.dampening},
          {"weight_decay", &options_.weight_decay},
          {"nesterov", nullptr, &options_.nesterov}};
}

void SGD::update(const kernels::SgdStep<float>& step, float* parameter, const float* gradient,
                 float* velocity, std::size_t n) {
  kernels::sgd<float>(step, parameter, gradient, velocity, n);
}

namespace {

template <typename T>
kernels::SgdStep<T> step_of(const SGDOptions& o, double lr, bool first) {
  return {static_cast<T>(lr),
          static_cast<T>(o.momentum),
          static_cast<T>(o.dampening),
          static_cast<T>(o.weight_decay),
          o.nesterov,
          first};
}

}  // namespace

void SGD::step() {
  for_each_gradient([this](std::size_t i, const Tensor& parameter, const Tensor& gradient) {
    Tensor velocity;
    bool first = false;
    if (options_.momentum != 0) {
      const Slot& state = slot(i);
      first = count_step(state) == 1;
      velocity = state.values[0];
    }
    const auto n = static_cast<std::size_t>(parameter.numel());
    if (parameter.dtype() == DType::kF32) {
      update(step_of<float>(options_, lr(), first), parameter.data<float>(), gradient.data<float>(),
             velocity.defined() ? velocity.data<float>() : nullptr, n);
    } else {
      kernels::sgd<double>(step_of<double>(options_, lr(), first), parameter.data<double>(),
                           gradient.data<double>(),
                           velocity.defined() ? velocity.data<double>() : nullptr, n);
    }
  });
}

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& options)
    : Optimizer(std::move(parameters), options.lr, {"exp_avg", "exp_avg_sq"}), options_(options) {
  check_not_negative("eps", options.eps);
  check_not_negative("weight_decay", options.weight_decay);
  for (const double beta : {options.beta1, options.beta2}) {
    if (!(beta >= 0 && beta < 1)) {
      throw ContractError(fmt::format("[nn.optim] a beta is {}; it lies in [0, 1)", beta));
    }
  }
}

std::vector<Optimizer::Option> Adam::options() {
  return {{"beta1", &options_.beta1},
          {"beta2", &options_.beta2},
          {"eps", &options_.eps},
          {"weight_decay", &options_.weight_decay}};
}

namespace {

template <typename T>
void adam_step(const AdamOptions& o, double lr, double number, const Tensor& parameter,
               const Tensor& gradient, const Tensor& mean, const Tensor& square) {
  const kernels::AdamStep<T> step{static_cast<T>(lr),
                                  static_cast<T>(o.beta1),
                                  static_cast<T>(o.beta2),
                                  static_cast<T>(o.eps),
                                  static_cast<T>(o.weight_decay),
                                  static_cast<T>(1 - std::pow(o.beta1, number)),
                                  static_cast<T>(1 - std::pow(o.beta2, number))};
  kernels::adam<T>(step, parameter.data<T>(), gradient.data<T>(),
                   {mean.data<T>(), square.data<T>()}, static_cast<std::size_t>(parameter.numel()));
}

}  // namespace

void Adam::step() {
  for_each_gradient([this](std::size_t i, const Tensor& parameter, const Tensor& gradient) {
    const Slot& state = slot(i);
    const auto number = static_cast<double>(count_step(state));
    const auto run = parameter.dtype() == DType::kF32 ? adam_step<float> : adam_step<double>;
    run(options_, lr(), number, parameter, gradient, state.values[0], state.values[1]);
  });
}

}  // namespace plab::nn
