// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/layers.h"

#include <fmt/format.h>

#include <cmath>

#include "plab/base/error.h"
#include "plab/nn/conv2d.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

namespace {

// PyTorch's start of Linear and Conv2d: kaiming_uniform with a = sqrt(5) comes to this bound.
Tensor uniform_parameter(const Shape& shape, std::int64_t fan_in, Generator& generator,
                         DType dtype) {
  if (!is_floating(dtype) || item_size(dtype) < 4) {
    throw DTypeError(
        fmt::format("[nn.layers] a layer of {} cannot be trained; use float32 or "
                    "float64",
                    name_of(dtype)));
  }
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  Tensor value = Tensor::empty(shape, dtype);
  value.uniform_(-bound, bound, generator);
  return value;
}

void check_sizes(std::string_view layer, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 1) {
      throw ContractError(
          fmt::format("[nn.layers] {} got a size of {}; sizes start at 1", layer, size));
    }
  }
}

std::string_view python_bool(bool value) { return value ? "True" : "False"; }

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, Generator& generator, Bias bias, DType dtype) {
  check_sizes("Linear", {in, out});
  weight_ = register_parameter("weight", uniform_parameter({out, in}, in, generator, dtype));
  if (bias == Bias::kYes) {
    bias_ = register_parameter("bias", uniform_parameter({out}, in, generator, dtype));
  }
}

Tensor Linear::forward(const Tensor& input) { return linear(input, weight_, bias_); }

std::string Linear::describe() const {
  return fmt::format("Linear(in_features={}, out_features={}, bias={})", weight_.size(1),
                     weight_.size(0), python_bool(bias_.defined()));
}

Conv2d::Conv2d(std::int64_t in, std::int64_t out, Pair kernel, Generator& generator,
               const Conv2dOptions& options)
    : options_(options) {
  const auto& [stride, padding, dilation, groups, bias, dtype] = options;
  check_sizes("Conv2d", {in, out, kernel[0], kernel[1], stride[0], stride[1], dilation[0],
                         dilation[1], groups});
  if (padding[0] < 0 || padding[1] < 0 || in % groups != 0 || out % groups != 0) {
    throw ContractError(
        fmt::format("[nn.layers] Conv2d with {} to {} channels, {} groups and padding ({}, {}): "
                    "groups must divide both, and padding must not be negative",
                    in, out, groups, padding[0], padding[1]));
  }
  const std::int64_t fan_in = in / groups * kernel[0] * kernel[1];
  weight_ = register_parameter("weight", uniform_parameter({out, in / groups, kernel[0], kernel[1]},
                                                           fan_in, generator, dtype));
  if (bias == Bias::kYes) {
    bias_ = register_parameter("bias", uniform_parameter({out}, fan_in, generator, dtype));
  }
}

Tensor Conv2d::forward(const Tensor& input) {
  return conv2d(input, weight_, bias_,
                {options_.stride, options_.padding, options_.dilation, options_.groups});
}

std::string Conv2d::describe() const {
  const auto& [stride, padding, dilation, groups, bias, dtype] = options_;
  std::string text =
      fmt::format("Conv2d({}, {}, kernel_size=({}, {}), stride=({}, {})", weight_.size(1) * groups,
                  weight_.size(0), weight_.size(2), weight_.size(3), stride[0], stride[1]);
  if (padding != Pair{0, 0}) text += fmt::format(", padding=({}, {})", padding[0], padding[1]);
  if (dilation != Pair{1, 1}) text += fmt::format(", dilation=({}, {})", dilation[0], dilation[1]);
  if (groups != 1) text += fmt::format(", groups={}", groups);
  if (bias == Bias::kNo) text += ", bias=False";
  return text + ")";
}

Tensor ReLU::forward(const Tensor& input) { return relu(input); }

Tensor Tanh::forward(const Tensor& input) { return tanh(input); }

Tensor Flatten::forward(const Tensor& input) { return input.flatten(start_dim_); }

std::string Flatten::describe() const {
  return fmt::format("Flatten(start_dim={}, end_dim=-1)", start_dim_);
}

Dropout::Dropout(double p, const Generator& generator) : p_(p), generator_(generator) {
  if (!(p >= 0 && p <= 1)) {
    throw ContractError(
        fmt::format("[nn.layers] Dropout got p={}; it is a probability, 0 to 1", p));
  }
}

Tensor Dropout::forward(const Tensor& input) {
  if (!is_training() || p_ == 0) return input;
  const double scale = p_ == 1 ? 0 : 1 / (1 - p_);
  std::vector<float> kept(static_cast<std::size_t>(input.numel()));
  for (float& factor : kept) {
    factor = generator_.next_uniform() < p_ ? 0.0F : static_cast<float>(scale);
  }
  const Tensor mask = Tensor::of<float>(kept, input.sizes());
  return mul(input, input.dtype() == DType::kF32 ? mask : mask.to(input.dtype()));
}

std::string Dropout::describe() const { return fmt::format("Dropout(p={}, inplace=False)", p_); }

void Sequential::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(size()), std::move(module));
}

Module& Sequential::operator[](std::size_t i) const {
  if (i >= size()) {
    throw ContractError(
        fmt::format("[nn.layers] module {} of a Sequential of {}; valid are 0 to "
                    "size() - 1",
                    i, size()));
  }
  return *children()[i].second;
}

Tensor Sequential::forward(const Tensor& input) {
  Tensor value = input;
  for (const auto& [name, module] : children()) value = module->forward(value);
  return value;
}

std::string Sequential::describe() const { return size() == 0 ? "Sequential()" : "Sequential"; }

}  // namespace plab::nn
