// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/tensor_impl.h"
namespace plab {
std::string Tensor::str() const { return detail::describe(*this); }
}  // namespace plab
