// SPDX-License-Identifier: Apache-2.0
#include "plab/nn/conv2d.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plab/base/error.h"
#include "plab/nn/record.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

namespace {

// im2col: each output position becomes a column that holds the input elements under the kernel, so
// that the convolution of one sample and group is weight [out, depth] times columns [depth, area].
// The gradients are the two other products of the same matrices; col2im adds columns back.
struct Plan {
  std::int64_t samples, in, height, width;  // of the input
  std::int64_t out, rows, columns;          // of the output
  std::int64_t kernel_h, kernel_w;
  ConvGeometry geometry;

  [[nodiscard]] std::int64_t group_in() const { return in / geometry.groups; }
  [[nodiscard]] std::int64_t group_out() const { return out / geometry.groups; }
  [[nodiscard]] std::int64_t depth() const { return group_in() * kernel_h * kernel_w; }
  [[nodiscard]] std::int64_t area() const { return rows * columns; }
  [[nodiscard]] std::int64_t input_at(std::int64_t sample, std::int64_t group) const {
    return (sample * in + group * group_in()) * height * width;
  }
  [[nodiscard]] std::int64_t output_at(std::int64_t sample, std::int64_t group) const {
    return (sample * out + group * group_out()) * area();
  }
  [[nodiscard]] std::int64_t weight_at(std::int64_t group) const {
    return group * group_out() * depth();
  }
};

// Calls visit(offset in the input, offset in the columns) for each element under the kernel that
// is not padding.
template <typename F>
void for_each_under_kernel(const Plan& plan, F&& visit) {
  const auto& [stride, padding, dilation, groups] = plan.geometry;
  for (std::int64_t d = 0; d < plan.depth(); ++d) {
    const std::int64_t kw = d % plan.kernel_w;
    const std::int64_t kh = d / plan.kernel_w % plan.kernel_h;
    const std::int64_t channel = d / plan.kernel_w / plan.kernel_h;
    for (std::int64_t r = 0; r < plan.rows; ++r) {
      const std::int64_t y = r * stride[0] - padding[0] + kh * dilation[0];
      if (y < 0 || y >= plan.height) continue;
      for (std::int64_t c = 0; c < plan.columns; ++c) {
        const std::int64_t x = c * stride[1] - padding[1] + kw * dilation[1];
        if (x < 0 || x >= plan.width) continue;
        visit((channel * plan.height + y) * plan.width + x, d * plan.area() + r * plan.columns + c);
      }
    }
  }
}

template <typename T>
void im2col(const Plan& plan, const T* image, std::vector<T>& columns) {
  std::fill(columns.begin(), columns.end(), T{0});
  for_each_under_kernel(plan, [&](std::int64_t from, std::int64_t to) {
    columns[static_cast<std::size_t>(to)] = image[from];
  });
}

template <typename T>
void col2im(const Plan& plan, const std::vector<T>& columns, T* image) {
  for_each_under_kernel(plan, [&](std::int64_t to, std::int64_t from) {
    image[to] += columns[static_cast<std::size_t>(from)];
  });
}

template <typename T>
std::vector<T> make_columns(const Plan& plan) {
  return std::vector<T>(static_cast<std::size_t>(plan.depth() * plan.area()));
}

template <typename T>
Tensor forward_as(const Plan& plan, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  Tensor output = Tensor::empty({plan.samples, plan.out, plan.rows, plan.columns}, input.dtype());
  auto columns = make_columns<T>(plan);
  const std::int64_t area = plan.area();
  for (std::int64_t n = 0; n < plan.samples; ++n) {
    for (std::int64_t g = 0; g < plan.geometry.groups; ++g) {
      im2col(plan, input.data<T>() + plan.input_at(n, g), columns);
      T* const to = output.data<T>() + plan.output_at(n, g);
      for (std::int64_t o = 0; bias.defined() && o < plan.group_out(); ++o) {
        std::fill_n(to + o * area, area, bias.data<T>()[g * plan.group_out() + o]);
      }
      kernels::gemm<T>({plan.group_out(), area, plan.depth()}, T{1},
                       {weight.data<T>() + plan.weight_at(g), plan.depth()}, {columns.data(), area},
                       bias.defined() ? T{1} : T{0}, to, area);
    }
  }
  return output;
}

template <typename T>
Tensor input_grad(const Plan& plan, const Tensor& grad, const Tensor& weight) {
  Tensor result = Tensor::zeros({plan.samples, plan.in, plan.height, plan.width}, grad.dtype());
  auto columns = make_columns<T>(plan);
  for (std::int64_t n = 0; n < plan.samples; ++n) {
    for (std::int64_t g = 0; g < plan.geometry.groups; ++g) {
      kernels::gemm<T>(
          {plan.depth(), plan.area(), plan.group_out()}, T{1},
          {weight.data<T>() + plan.weight_at(g), plan.depth(), kernels::Transpose::kYes},
          {grad.data<T>() + plan.output_at(n, g), plan.area()}, T{0}, columns.data(), plan.area());
      col2im(plan, columns, result.data<T>() + plan.input_at(n, g));
    }
  }
  return result;
}

template <typename T>
Tensor weight_grad(const Plan& plan, const Tensor& grad, const Tensor& input) {
  Tensor result =
      Tensor::zeros({plan.out, plan.group_in(), plan.kernel_h, plan.kernel_w}, grad.dtype());
  auto columns = make_columns<T>(plan);
  for (std::int64_t n = 0; n < plan.samples; ++n) {
    for (std::int64_t g = 0; g < plan.geometry.groups; ++g) {
      im2col(plan, input.data<T>() + plan.input_at(n, g), columns);
      kernels::gemm<T>({plan.group_out(), plan.depth(), plan.area()}, T{1},
                       {grad.data<T>() + plan.output_at(n, g), plan.area()},
                       {columns.data(), plan.area(), kernels::Transpose::kYes}, T{1},
                       result.data<T>() + plan.weight_at(g), plan.depth());
    }
  }
  return result;
}

struct Conv : Saves<2> {
  static constexpr std::string_view kName = "ConvolutionBackward0";
  Plan plan;
  void backward(const Node& node, const Tensor& grad, std::span<Tensor> grads) {
    const Tensor g = grad.contiguous();
    const bool is_f32 = g.dtype() == DType::kF32;
    if (node.needs(0)) {
      const Tensor weight = saved[1].get(node).contiguous();
      grads[0] = is_f32 ? input_grad<float>(plan, g, weight) : input_grad<double>(plan, g, weight);
    }
    if (node.needs(1)) {
      const Tensor input = saved[0].get(node).contiguous();
      grads[1] = is_f32 ? weight_grad<float>(plan, g, input) : weight_grad<double>(plan, g, input);
    }
    if (node.needs(2)) grads[2] = sum(sum(g.flatten(2), 2), 0);
  }
};

void check_operands(const Tensor& input, const Tensor& weight, const Tensor& bias,
                    const ConvGeometry& geometry) {
  const bool fits = input.dim() == 4 && weight.dim() == 4 && geometry.groups > 0 &&
                    input.size(1) == weight.size(1) * geometry.groups &&
                    weight.size(0) % geometry.groups == 0 &&
                    (!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)));
  if (!fits) {
    throw ShapeError(fmt::format(
        "[nn.conv2d] input {}, weight {}, bias {}, {} groups do not fit; input is [n, in, h, w], "
        "weight [out, in / groups, kh, kw], bias [out], and groups divides out",
        input.sizes().str(), weight.sizes().str(), bias.defined() ? bias.sizes().str() : "none",
        geometry.groups));
  }
  const DType dtype = input.dtype();
  if ((dtype != DType::kF32 && dtype != DType::kF64) || weight.dtype() != dtype ||
      (bias.defined() && bias.dtype() != dtype)) {
    throw DTypeError(fmt::format(
        "[nn.conv2d] input is {}, weight {}, bias {}; all must be float32, or all float64",
        name_of(dtype), name_of(weight.dtype()), bias.defined() ? name_of(bias.dtype()) : "none"));
  }
}

std::int64_t result_size(std::int64_t size, std::int64_t kernel, const ConvGeometry& g,
                         std::size_t axis) {
  const std::int64_t space = size + 2 * g.padding[axis] - g.dilation[axis] * (kernel - 1) - 1;
  return space < 0 ? 0 : space / g.stride[axis] + 1;
}

Plan make_plan(const Tensor& input, const Tensor& weight, const ConvGeometry& geometry) {
  Plan plan{input.size(0),  input.size(1),  input.size(2), input.size(3), weight.size(0), 0, 0,
            weight.size(2), weight.size(3), geometry};
  for (const std::size_t axis : {0U, 1U}) {
    if (geometry.stride[axis] < 1 || geometry.dilation[axis] < 1 || geometry.padding[axis] < 0) {
      throw ContractError(
          "[nn.conv2d] stride and dilation start at 1, padding at 0; mend the geometry");
    }
  }
  plan.rows = result_size(plan.height, plan.kernel_h, geometry, 0);
  plan.columns = result_size(plan.width, plan.kernel_w, geometry, 1);
  if (plan.rows < 1 || plan.columns < 1) {
    throw ShapeError(fmt::format(
        "[nn.conv2d] a kernel of {} x {} with dilation ({}, {}) does not fit an input of {} x {} "
        "with padding ({}, {}); use a smaller kernel or more padding",
        plan.kernel_h, plan.kernel_w, geometry.dilation[0], geometry.dilation[1], plan.height,
        plan.width, geometry.padding[0], geometry.padding[1]));
  }
  return plan;
}

}  // namespace

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvGeometry& geometry) {
  check_operands(input, weight, bias, geometry);
  const Plan plan = make_plan(input, weight, geometry);
  const bool recorded =
      is_recorded(input) || is_recorded(weight) || (bias.defined() && is_recorded(bias));
  const NoGrad no_grad;
  const Tensor x = input.contiguous();
  const Tensor w = weight.contiguous();
  const Tensor b = bias.defined() ? bias.contiguous() : bias;
  Tensor output = x.dtype() == DType::kF32 ? forward_as<float>(plan, x, w, b)
                                           : forward_as<double>(plan, x, w, b);
  if (!recorded) return output;
  Conv op;
  op.saved = {save_for(weight, input), save_for(input, weight)};
  op.plan = plan;
  return record(std::move(output), std::move(op), input, weight, bias);
}

}  // namespace plab::nn
