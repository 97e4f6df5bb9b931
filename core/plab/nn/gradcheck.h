#pragma once
// SPDX-License-Identifier: Apache-2.0
// Compares the gradients of the tape with finite differences.

#include <functional>
#include <span>
#include <string>

#include "plab/tensor/tensor.h"

namespace plab::nn {

struct GradcheckOptions {
  double eps = 1e-6;  ///< half the distance of the two points of a difference
  double atol = 1e-5;
  double rtol = 1e-3;
};

/// Computes `function(inputs)` and the gradient of a fixed weighted sum of its result for each
/// input that requires one, by backward() and by central differences for every element. Empty when
/// they agree; else one line that names the input, the element and both numbers.
///
/// The function must be smooth at the inputs (no relu at 0) and give the same for the same inputs.
/// The inputs' elements are changed and put back; their gradients are dropped.
/// @throws ContractError when no input requires a gradient or one is not float64
[[nodiscard]] std::string gradcheck(const std::function<Tensor(std::span<const Tensor>)>& function,
                                    std::span<const Tensor> inputs,
                                    const GradcheckOptions& options = {});

}  // namespace plab::nn
