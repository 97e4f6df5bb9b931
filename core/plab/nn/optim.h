#pragma once
// SPDX-License-Identifier: Apache-2.0
// Optimizers: they change parameters by their gradients.
//
// Note: unsynchronised updates. step() writes parameters with plain vector stores and takes no
// lock, also when they lie in memory that other processes write at the same time (Hogwild). An
// aligned store of 4 or 8 bytes does not tear on the processors that plab runs on, so an element
// is always a value that somebody wrote; but another process's update between our load and our
// store is lost. Within one process two threads must not step over the same parameters.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plab/nn/module.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/tensor.h"

namespace plab::nn {

/// @procs parameters may be shared; the state of the optimizer belongs to its process until
/// share_memory()
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of every parameter that has a gradient; the others stay as they are.
  virtual void step() = 0;
  /// Drops (the default) or zeroes the gradients.
  void zero_grad(ZeroGrad how = ZeroGrad::kSetToNone) { nn::zero_grad(parameters_, how); }
  [[nodiscard]] const std::vector<Tensor>& parameters() const noexcept { return parameters_; }
  [[nodiscard]] double lr() const noexcept { return lr_; }
  /// @throws ContractError when it is negative or not a number
  void set_lr(double lr);

  /// Makes the whole state now (otherwise the first step does) and puts it into shared memory, the
  /// step counters too: processes that get this optimizer by fork then share one state.
  void share_memory();

  /// "state.0.momentum_buffer" ... by the index of the parameter, and the options as scalars
  /// "param_groups.0.lr" ... The state tensors are the optimizer's own, not copies.
  [[nodiscard]] StateDict state_dict() const;
  /// @throws ContractError that lists every missing, unexpected and misshapen entry; then nothing
  /// was changed
  void load_state_dict(const StateDict& state);

 protected:
  /// What an optimizer keeps for one parameter. `values` are undefined until they are needed.
  struct Slot {
    Tensor steps;  ///< int64 [1]
    std::vector<Tensor> values;
  };
  struct Option {
    std::string_view name;
    double* value;         ///< null for a flag
    bool* flag = nullptr;  ///< kept as 0 or 1
  };

  /// @param state_names of the tensors that a slot keeps, PyTorch's names
  Optimizer(std::vector<Tensor> parameters, double lr, std::vector<std::string> state_names);
  /// The options that state_dict() keeps, lr aside.
  [[nodiscard]] virtual std::vector<Option> options() = 0;
  /// Whether the number of steps is part of the state (Adam) or only our bookkeeping (SGD).
  [[nodiscard]] virtual bool saves_steps() const noexcept = 0;

  [[nodiscard]] Slot& slot(std::size_t i);  ///< complete: its tensors are there
  /// Counts a step of this slot and returns its number, from 1. Atomic, so that processes which
  /// share the state each get their own number.
  static std::int64_t count_step(const Slot& slot) noexcept;
  /// Calls run(parameter, gradient) with both row-major, for every parameter with a gradient.
  template <typename F>
  void for_each_gradient(F&& run);

 private:
  void make_slot(Slot& slot, const Tensor& parameter) const;
  std::vector<Tensor> parameters_;
  std::vector<Slot> slots_;
  std::vector<std::string> state_names_;
  double lr_;
};

struct SGDOptions {
  double lr = 0.001;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

/// torch.optim.SGD: d = gradient + weight_decay * p; with momentum v = d in the first step, then
/// v = momentum * v + (1 - dampening) * d, and d = v, or with nesterov d += momentum * v;
/// p -= lr * d.
class SGD : public Optimizer {
 public:
  /// @throws ContractError for no parameters, one that is not a leaf or not float32/float64, a
  /// negative option, or nesterov without momentum or with dampening
  SGD(std::vector<Tensor> parameters, const SGDOptions& options);
  void step() override;

 protected:
  /// Updates `n` elements of a float32 parameter; `velocity` is null without momentum. Here: the
  /// kernel. parallel::ProbedSgd overrides it to watch some of the stores.
  virtual void update(const kernels::SgdStep<float>& step, float* parameter, const float* gradient,
                      float* velocity, std::size_t n);

 private:
  std::vector<Option> options() override;
  bool saves_steps() const noexcept override { return false; }
  SGDOptions options_;
};

struct AdamOptions {
  double lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};

/// torch.optim.Adam (L2 weight decay, bias correction, no amsgrad).
class Adam final : public Optimizer {
 public:
  /// @throws ContractError as SGD, or for a beta outside [0, 1)
  explicit Adam(std::vector<Tensor> parameters, const AdamOptions& options = {});
  void step() override;

 private:
  std::vector<Option> options() override;
  bool saves_steps() const noexcept override { return true; }
  AdamOptions options_;
};

}  // namespace plab::nn
