#pragma once
// SPDX-License-Identifier: Apache-2.0
// The base of every network and layer: named parameters, buffers and submodules.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plab/tensor/tensor.h"

namespace plab::nn {

/// Names and tensors in the order of registration, as torch's OrderedDict.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

/// What becomes of gradients that were used: kSetToNone drops them (PyTorch's default since 2.0),
/// kZero fills them with zeros and keeps their memory (views of DDP buckets stay).
enum class ZeroGrad : std::uint8_t { kSetToNone, kZero };

/// Whether load_state_dict refuses names that are missing or unknown. Wrong shapes it always
/// refuses.
enum class Strict : std::uint8_t { kYes, kNo };

/// A network or a layer. Holds references to its tensors: the optimizer that got parameters()
/// changes the module's own.
///
/// @threads forward() of one module may run in several threads if none changes its tensors
/// @procs share_memory() before fork or sending: all processes then train the same parameters
/// @fork the child has a copy of what is not shared
class Module {
 public:
  using Named = std::vector<std::pair<std::string, Tensor>>;

  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;  // a copy would share the tensors, which surprises
  Module& operator=(const Module&) = delete;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;

  /// @throws ShapeError, DTypeError when the input does not fit
  [[nodiscard]] virtual Tensor forward(const Tensor& input) = 0;
  [[nodiscard]] Tensor operator()(const Tensor& input) { return forward(input); }
  /// One line, as PyTorch prints it: "Linear(in_features=64, out_features=10, bias=True)".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// The module with its submodules, indented, as PyTorch prints it.
  [[nodiscard]] std::string to_string() const;

  /// Parameters of this module and those below it, each once, in the order of registration. Names
  /// have dots between the levels: "0.weight".
  [[nodiscard]] Named named_parameters() const;
  [[nodiscard]] std::vector<Tensor> parameters() const;
  /// Tensors that belong to the state but are not trained.
  [[nodiscard]] Named named_buffers() const;
  /// The modules directly below this one.
  [[nodiscard]] const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& children()
      const noexcept {
    return children_;
  }

  /// Calls `visit` for every module below this one, deepest first, then for this one.
  void apply(const std::function<void(Module&)>& visit);
  /// Training mode (the start) or evaluation; for this module and all below. Dropout looks at it.
  void train(bool on = true);
  void eval() { train(false); }
  [[nodiscard]] bool is_training() const noexcept { return training_; }
  void zero_grad(ZeroGrad how = ZeroGrad::kSetToNone);
  /// Whether the parameters require gradients.
  void requires_grad_(bool on = true);
  /// Moves all parameters and buffers to shared memory, in place. Call it before the first
  /// backward: a gradient that exists is shared too, and workers then add to the same one.
  void share_memory();

  /// Parameters and buffers. The tensors are the module's own, without history, not copies.
  [[nodiscard]] StateDict state_dict() const;
  /// Copies the values into the module's tensors.
  /// @throws ContractError that lists every missing and unexpected name and every wrong shape; then
  /// nothing was changed
  void load_state_dict(const StateDict& state, Strict strict = Strict::kYes);

 protected:
  /// Makes `value` a parameter that requires a gradient, and returns it.
  /// @throws ContractError for an empty name, one with a dot, or one that is taken
  Tensor register_parameter(std::string name, const Tensor& value);
  Tensor register_buffer(std::string name, const Tensor& value);
  template <typename M>
  std::shared_ptr<M> register_module(const std::string& name, std::shared_ptr<M> module) {
    add_child(name, module);
    return module;
  }

 private:
  void add_child(std::string name, std::shared_ptr<Module> module);
  void check_name(std::string_view name) const;
  void collect(const std::string& prefix, Named Module::*which, Named& into) const;

  Named parameters_;
  Named buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  bool training_ = true;
};

/// Drops or zeroes the gradients of `parameters`.
void zero_grad(std::span<const Tensor> parameters, ZeroGrad how);

}  // namespace plab::nn
