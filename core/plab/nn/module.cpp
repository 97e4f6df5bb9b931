// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "plab/base/error.h"
#include "plab/tensor/autograd.h"

namespace plab::nn {

namespace {

// The text with every line after the first indented by two.
std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace

std::string Module::to_string() const {
  if (children_.empty()) return describe();
  std::string text = describe() + "(";
  for (const auto& [name, child] : children_) {
    text += fmt::format("\n  ({}): {}", name, indented(child->to_string()));
  }
  return text + "\n)";
}

void Module::collect(const std::string& prefix, Named Module::*which, Named& into) const {
  for (const auto& [name, tensor] : this->*which) {
    const auto is_it = [&t = tensor](const auto& other) { return other.second.is_same(t); };
    if (std::ranges::none_of(into, is_it)) into.emplace_back(prefix + name, tensor);
  }
  for (const auto& [name, child] : children_) child->collect(prefix + name + ".", which, into);
}

Module::Named Module::named_parameters() const {
  Named result;
  collect("", &Module::parameters_, result);
  return result;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> result;
  for (auto& [name, tensor] : named_parameters()) result.push_back(tensor);
  return result;
}

Module::Named Module::named_buffers() const {
  Named result;
  collect("", &Module::buffers_, result);
  return result;
}

void Module::apply(const std::function<void(Module&)>& visit) {
  for (const auto& [name, child] : children_) child->apply(visit);
  visit(*this);
}

void Module::train(bool on) {
  apply([on](Module& module) { module.training_ = on; });
}

void zero_grad(std::span<const Tensor> parameters, ZeroGrad how) {
  for (const Tensor& parameter : parameters) {
    AutogradMeta* const meta = parameter.autograd();
    if (meta == nullptr || !meta->grad.defined()) continue;
    if (how == ZeroGrad::kSetToNone) {
      meta->grad = Tensor();
    } else {
      const NoGrad no_grad;
      meta->grad.zero_();
    }
  }
}

void Module::zero_grad(ZeroGrad how) { nn::zero_grad(parameters(), how); }

void Module::requires_grad_(bool on) {
  for (const Tensor& parameter : parameters()) parameter.requires_grad_(on);
}

void Module::share_memory() {
  for (const auto& [name, tensor] : named_parameters()) tensor.share_memory();
  for (const auto& [name, tensor] : named_buffers()) tensor.share_memory();
}

// As PyTorch: at each level the parameters, then the buffers, then the modules below; a tensor that
// is registered twice is there under both names.
StateDict Module::state_dict() const {
  StateDict state;
  for (const auto& [name, tensor] : parameters_) state.emplace_back(name, tensor.detach());
  for (const auto& [name, tensor] : buffers_) state.emplace_back(name, tensor.detach());
  for (const auto& [prefix, child] : children_) {
    for (auto& [name, tensor] : child->state_dict()) {
      state.emplace_back(fmt::format("{}.{}", prefix, name), std::move(tensor));
    }
  }
  return state;
}

namespace {

struct LoadPlan {
  std::vector<std::pair<Tensor, Tensor>> copies;  // from, to
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> wrong;
};

LoadPlan plan_load(const StateDict& own, const StateDict& given) {
  LoadPlan plan;
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : given) by_name.emplace(name, &tensor);
  for (const auto& [name, tensor] : own) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      plan.missing.push_back(name);
      continue;
    }
    const Tensor& source = *found->second;
    by_name.erase(found);
    if (!source.defined()) {
      plan.wrong.push_back(fmt::format("{}: the given tensor is undefined", name));
    } else if (!(source.sizes() == tensor.sizes())) {
      plan.wrong.push_back(fmt::format("{}: {} is given, the module has {}", name,
                                       source.sizes().str(), tensor.sizes().str()));
    } else {
      plan.copies.emplace_back(source, tensor);
    }
  }
  for (const auto& [name, tensor] : given) {
    if (by_name.contains(name)) plan.unexpected.push_back(name);
  }
  return plan;
}

}  // namespace

void Module::load_state_dict(const StateDict& state, Strict strict) {
  const LoadPlan plan = plan_load(state_dict(), state);
  std::string problems;
  if (strict == Strict::kYes && !plan.missing.empty()) {
    problems += fmt::format("; missing: {}", fmt::join(plan.missing, ", "));
  }
  if (strict == Strict::kYes && !plan.unexpected.empty()) {
    problems += fmt::format("; unexpected: {}", fmt::join(plan.unexpected, ", "));
  }
  if (!plan.wrong.empty()) problems += fmt::format("; wrong: {}", fmt::join(plan.wrong, ", "));
  if (!problems.empty()) {
    throw ContractError(fmt::format("[nn.module] the state does not fit {}{}; nothing was loaded",
                                    describe(), problems));
  }
  const NoGrad no_grad;
  for (const auto& [from, to] : plan.copies) to.copy_(from);
}

void Module::check_name(std::string_view name) const {
  const auto is_taken = [name](const auto& list) {
    return std::ranges::any_of(list, [name](const auto& entry) { return entry.first == name; });
  };
  if (name.empty() || name.find('.') != std::string_view::npos || is_taken(parameters_) ||
      is_taken(buffers_) || is_taken(children_)) {
    throw ContractError(
        fmt::format("[nn.module] \"{}\" is no name for a part of a module: it is empty, has a dot, "
                    "or is taken; choose another",
                    name));
  }
}

Tensor Module::register_parameter(std::string name, const Tensor& value) {
  check_name(name);
  value.requires_grad_();
  parameters_.emplace_back(std::move(name), value);
  return value;
}

Tensor Module::register_buffer(std::string name, const Tensor& value) {
  check_name(name);
  buffers_.emplace_back(std::move(name), value);
  return value;
}

void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name(name);
  if (module == nullptr) {
    throw ContractError(fmt::format("[nn.module] module \"{}\" is null; give one", name));
  }
  children_.emplace_back(std::move(name), std::move(module));
}

}  // namespace plab::nn
