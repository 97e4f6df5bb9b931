#pragma once
// SPDX-License-Identifier: Apache-2.0
// The recording version of every differentiable operation, as tensor/autograd.h asks for it. Not
// called by hand: add(a, b) comes here when it has to.

#include "plab/tensor/autograd.h"

namespace plab::nn {

void fill_pointwise(AutogradTable& table);
void fill_reductions(AutogradTable& table);
void fill_products(AutogradTable& table);
void fill_indexing(AutogradTable& table);
void fill_views(AutogradTable& table);

/// Registers all of them and Tensor::backward. Runs by itself before main() in every program that
/// links plab::nn; calling it again changes nothing.
void register_functions() noexcept;

}  // namespace plab::nn
