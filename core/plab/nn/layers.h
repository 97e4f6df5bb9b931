#pragma once
// SPDX-License-Identifier: Apache-2.0
// The layers: Linear, Conv2d, ReLU, Tanh, Flatten, Dropout, and Sequential that chains them.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "plab/nn/module.h"
#include "plab/tensor/random.h"

namespace plab::nn {

enum class Bias : std::uint8_t { kYes, kNo };

/// y = x W^T + b; x is [rows, in]. Parameters "weight" [out, in] and "bias" [out].
class Linear final : public Module {
 public:
  /// Both start uniform in (-1/sqrt(in), 1/sqrt(in)), as PyTorch's; the weight is drawn first.
  /// @throws ContractError when a size is below 1
  Linear(std::int64_t in, std::int64_t out, Generator& generator, Bias bias = Bias::kYes,
         DType dtype = DType::kF32);
  [[nodiscard]] Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] const Tensor& weight() const noexcept { return weight_; }
  [[nodiscard]] const Tensor& bias() const noexcept { return bias_; }  ///< undefined without

 private:
  Tensor weight_;
  Tensor bias_;
};

/// A size in rows and columns.
using Pair = std::array<std::int64_t, 2>;

struct Conv2dOptions {
  Pair stride{1, 1};
  Pair padding{0, 0};
  Pair dilation{1, 1};
  std::int64_t groups = 1;
  Bias bias = Bias::kYes;
  DType dtype = DType::kF32;
};

/// Cross-correlation over [rows, in, height, width]. Parameters "weight" [out, in/groups, kernel
/// height, kernel width] and "bias" [out]. One matrix product for each sample and group (im2col).
class Conv2d final : public Module {
 public:
  /// Both start uniform in (-1/sqrt(f), 1/sqrt(f)), f = in/groups * kernel area, as PyTorch's.
  /// @throws ContractError for sizes below 1, negative padding, groups that do not divide in and
  /// out
  Conv2d(std::int64_t in, std::int64_t out, Pair kernel, Generator& generator,
         const Conv2dOptions& options = {});
  [[nodiscard]] Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] const Tensor& weight() const noexcept { return weight_; }
  [[nodiscard]] const Tensor& bias() const noexcept { return bias_; }

 private:
  Conv2dOptions options_;
  Tensor weight_;
  Tensor bias_;
};

class ReLU final : public Module {
 public:
  [[nodiscard]] Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::string describe() const override { return "ReLU()"; }
};

class Tanh final : public Module {
 public:
  [[nodiscard]] Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::string describe() const override { return "Tanh()"; }
};

/// All dimensions from `start_dim` on become one.
class Flatten final : public Module {
 public:
  explicit Flatten(std::int64_t start_dim = 1) noexcept : start_dim_(start_dim) {}
  [[nodiscard]] Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::string describe() const override;

 private:
  std::int64_t start_dim_;
};

/// In training each element is zero with probability p, and the rest is divided by 1 - p; in
/// evaluation the input passes as it is.
class Dropout final : public Module {
 public:
  /// `generator` is copied: the layer has a stream of its own. In a worker process give each its
  /// own (seed, rank), or all drop the same elements.
  /// @throws ContractError when p is not in [0, 1]
  Dropout(double p, const Generator& generator);
  [[nodiscard]] Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::string describe() const override;

 private:
  double p_;
  Generator generator_;
};

/// Its modules one after the other; they are named "0", "1", ...
///
///     Generator g(1);
///     Sequential net{Linear(64, 128, g), ReLU(), Linear(128, 10, g)};
class Sequential final : public Module {
 public:
  Sequential() = default;
  template <typename... Modules>
  requires(sizeof...(Modules) > 0 &&
           (std::is_base_of_v<Module, Modules> && ...)) explicit Sequential(Modules&&... modules) {
    (push_back(std::make_shared<Modules>(std::forward<Modules>(modules))), ...);
  }
  explicit Sequential(const std::vector<std::shared_ptr<Module>>& modules) {
    for (const auto& module : modules) push_back(module);
  }
  void push_back(std::shared_ptr<Module> module);
  [[nodiscard]] std::size_t size() const noexcept { return children().size(); }
  /// @throws ContractError when there is no such module
  [[nodiscard]] Module& operator[](std::size_t i) const;
  [[nodiscard]] Tensor forward(const Tensor& input) override;
  [[nodiscard]] std::string describe() const override;
};

}  // namespace plab::nn
