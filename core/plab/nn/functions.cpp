// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/functions.h"

#include "plab/nn/engine.h"

namespace plab::nn {

void register_functions() noexcept {
  AutogradTable table;
  fill_pointwise(table);
  fill_reductions(table);
  fill_products(table);
  fill_indexing(table);
  fill_views(table);
  table.backward = [](const Tensor& root, const Tensor& gradient) { backward(root, gradient); };
  register_autograd(table);
}

}  // namespace plab::nn

// The linker takes a file out of a static library only for a symbol that it misses. CMakeLists.txt
// makes it miss this one in every program that links nn, so that the table is always there.
extern "C" const bool plab_nn_is_linked;
const bool plab_nn_is_linked = (plab::nn::register_functions(), true);
