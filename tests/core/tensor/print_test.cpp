// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "plab/base/error.h"
#include "plab/tensor/autograd.h"
#include "print_cases.h"

namespace plab {

TEST_CASE("A tensor prints as PyTorch prints it", "[tensor]") {
  for (const auto& [what, tensor, expected] : test::print_cases()) {
    INFO(what);
    CHECK(tensor.str() == expected);
  }
}

TEST_CASE("A computed tensor prints the name of its node", "[tensor]") {
  struct Node : GradNode {
    [[nodiscard]] std::string_view name() const noexcept override { return "AddBackward0"; }
  };
  const Tensor t = Tensor::of<float>({1, 2});
  t.autograd_or_create().requires_grad = true;
  t.autograd_or_create().grad_fn = std::make_shared<Node>();
  CHECK(t.str() == "tensor([1., 2.], grad_fn=<AddBackward0>)");
}

TEST_CASE("Printing an undefined tensor is refused", "[tensor]") {
  CHECK_THROWS_AS(Tensor().str(), ContractError);
}

}  // namespace plab
