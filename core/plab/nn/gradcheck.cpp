// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/gradcheck.h"

#include <fmt/format.h>

#include <cmath>

#include "plab/base/error.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

namespace {

// Weights that differ from element to element, so that a gradient that lands in the wrong place is
// seen.
Tensor weights_for(const Tensor& output) {
  Tensor weights = Tensor::empty(output.sizes(), output.dtype());
  const std::int64_t n = weights.numel();
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = 0.5 + std::cos(static_cast<double>(3 * i + 1));
    if (output.dtype() == DType::kF64) {
      weights.data<double>()[i] = value;
    } else {
      weights.data<float>()[i] = static_cast<float>(value);
    }
  }
  return weights;
}

double weighted(const Tensor& output, const Tensor& weights) {
  return sum(mul(output, weights)).to(DType::kF64).item<double>();
}

// The address of element `i`, counted row by row, of a tensor of any strides.
double* element(const Tensor& tensor, std::int64_t i) {
  std::int64_t offset = 0;
  for (std::size_t d = tensor.sizes().dims(); d-- > 0;) {
    offset += i % tensor.sizes()[d] * tensor.strides()[d];
    i /= tensor.sizes()[d];
  }
  return tensor.data<double>() + offset;
}

void check_inputs(std::span<const Tensor> inputs) {
  bool any = false;
  for (const Tensor& input : inputs) {
    if (!input.requires_grad()) continue;
    if (input.dtype() != DType::kF64) {
      throw ContractError(
          "[nn.gradcheck] inputs have to be float64: differences of float32 are "
          "too coarse");
    }
    any = true;
    input.set_grad(Tensor());
  }
  if (!any) throw ContractError("[nn.gradcheck] no input requires a gradient");
}

/// The slope of `value` along x, from both sides.
double slope(double& x, double eps, const std::function<double()>& value) {
  const double before = x;
  x = before + eps;
  const double above = value();
  x = before - eps;
  const double below = value();
  x = before;
  return (above - below) / (2 * eps);
}

}  // namespace

std::string gradcheck(const std::function<Tensor(std::span<const Tensor>)>& function,
                      std::span<const Tensor> inputs, const GradcheckOptions& options) {
  check_inputs(inputs);
  const Tensor output = function(inputs);
  const Tensor weights = weights_for(output);
  output.backward(weights);
  const NoGrad no_grad;
  const auto value = [&] { return weighted(function(inputs), weights); };
  std::vector<Tensor> grads;
  grads.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    grads.push_back(input.requires_grad() ? input.grad() : Tensor());
    if (input.requires_grad()) input.set_grad(Tensor());
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].requires_grad()) continue;
    const auto got = grads[k].defined() ? grads[k].to_vector<double>() : std::vector<double>();
    for (std::int64_t i = 0; i < inputs[k].numel(); ++i) {
      const double numeric = slope(*element(inputs[k], i), options.eps, value);
      const double tape = got.empty() ? 0 : got[static_cast<std::size_t>(i)];
      if (!(std::abs(tape - numeric) <= options.atol + options.rtol * std::abs(numeric))) {
        return fmt::format("input {}, element {} of {}: backward gives {}, differences give {}", k,
                           i, inputs[k].sizes().str(), tape, numeric);
      }
    }
  }
  return {};
}

}  // namespace plab::nn
