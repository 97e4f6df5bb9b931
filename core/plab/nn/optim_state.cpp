// SPDX-License-Identifier: Apache-2.0
// Saving and loading what an optimizer has gathered.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "plab/base/error.h"
#include "plab/nn/optim.h"
#include "plab/tensor/autograd.h"

namespace plab::nn {

StateDict Optimizer::state_dict() const {
  StateDict state;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!slot.steps.defined() || slot.steps.item<std::int64_t>() == 0) continue;  // as before use
    if (saves_steps()) state.emplace_back(fmt::format("state.{}.step", i), slot.steps);
    for (std::size_t k = 0; k < state_names_.size(); ++k) {
      state.emplace_back(fmt::format("state.{}.{}", i, state_names_[k]), slot.values[k]);
    }
  }
  state.emplace_back("param_groups.0.lr", Tensor::scalar(lr_, DType::kF64));
  for (const auto& [name, value, flag] : const_cast<Optimizer*>(this)->options()) {
    const double number = flag != nullptr ? static_cast<double>(*flag) : *value;
    state.emplace_back(fmt::format("param_groups.0.{}", name), Tensor::scalar(number, DType::kF64));
  }
  return state;
}

namespace {

// Takes entries out of a state and notes what is wrong with it.
class StateReader {
 public:
  explicit StateReader(const StateDict& state) {
    for (const auto& [name, tensor] : state) left_.emplace(name, tensor);
  }
  [[nodiscard]] bool has(const std::string& name) const { return left_.contains(name); }
  Tensor take(const std::string& name, const Shape& shape) {
    const auto found = left_.find(name);
    if (found == left_.end()) {
      problems_.push_back(name + " is missing");
      return {};
    }
    Tensor tensor = found->second;
    left_.erase(found);
    if (tensor.defined() && tensor.sizes() == shape) return tensor;
    problems_.push_back(fmt::format("{} has shape {}, wanted {}", name,
                                    tensor.defined() ? tensor.sizes().str() : "none", shape.str()));
    return {};
  }
  void finish() {
    for (const auto& [name, tensor] : left_) problems_.push_back(name + " is unexpected");
    if (problems_.empty()) return;
    throw ContractError(
        fmt::format("[nn.optim] the state does not fit this optimizer: {}; nothing was loaded",
                    fmt::join(problems_, "; ")));
  }

 private:
  std::unordered_map<std::string, Tensor> left_;
  std::vector<std::string> problems_;
};

}  // namespace

void Optimizer::load_state_dict(const StateDict& state) {
  StateReader reader(state);
  std::vector<Option> wanted = options();
  wanted.push_back({"lr", &lr_});
  std::vector<Tensor> settings;
  settings.reserve(wanted.size());
  for (const Option& option : wanted) {
    settings.push_back(reader.take(fmt::format("param_groups.0.{}", option.name), {}));
  }
  std::vector<Slot> loaded(slots_.size());
  for (std::size_t i = 0; i < slots_.size() && !state_names_.empty(); ++i) {
    const std::string prefix = fmt::format("state.{}.", i);
    if (!reader.has(prefix + state_names_[0])) continue;  // no step was made with this one
    Slot& slot = loaded[i];
    slot.steps = saves_steps() ? reader.take(prefix + "step", {1}) : Tensor::ones({1}, DType::kI64);
    for (const auto& name : state_names_) {
      slot.values.push_back(reader.take(prefix + name, parameters_[i].sizes()));
    }
  }
  reader.finish();
  const NoGrad no_grad;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const auto number = settings[k].item<double>();
    if (wanted[k].flag != nullptr) *wanted[k].flag = number != 0;
    if (wanted[k].value != nullptr) *wanted[k].value = number;
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!loaded[i].steps.defined() && !slots_[i].steps.defined()) continue;
    Slot& to = slot(i);  // kept, since it may be shared
    if (!loaded[i].steps.defined()) {
      to.steps.zero_();
      for (const Tensor& value : to.values) value.zero_();
      continue;
    }
    to.steps.copy_(loaded[i].steps);
    for (std::size_t k = 0; k < to.values.size(); ++k) to.values[k].copy_(loaded[i].values[k]);
  }
}

}  // namespace plab::nn
