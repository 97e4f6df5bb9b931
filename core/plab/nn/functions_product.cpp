// SPDX-License-Identifier: Apache-2.0
// Matrix products and the softmax family, recorded.
#include "plab/nn/functions.h"
#include "plab/nn/record.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

namespace {

using Grads = std::span<Tensor>;

Tensor outer(const Tensor& column, const Tensor& row) {
  return matmul(column.unsqueeze(1), row.unsqueeze(0));
}

struct Matmul : Saves<2> {
  static constexpr std::string_view kName = "MmBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    if (node.needs(0)) grads[0] = of_first(grad, saved[1].get(node));
    if (node.needs(1)) grads[1] = of_second(grad, saved[0].get(node));
  }
  // a [n, k] or [k]; b [k, m] or [k]: the gradient's dimensions say which a was.
  Tensor of_first(const Tensor& grad, const Tensor& b) const {
    if (b.dim() == 2) return a_dims == 2 ? matmul(grad, b.t()) : matmul(b, grad);
    return a_dims == 2 ? outer(grad, b) : mul(grad, b);
  }
  Tensor of_second(const Tensor& grad, const Tensor& a) const {
    if (a_dims == 2) return matmul(a.t(), grad);
    return b_dims == 2 ? outer(a, grad) : mul(grad, a);
  }
  std::int64_t a_dims = 2;
  std::int64_t b_dims = 2;
};

// The three products of a linear layer, straight on BLAS when the memory allows.
struct Linear : Saves<2> {
  static constexpr std::string_view kName = "AddmmBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor g = grad.contiguous();
    if (node.needs(0)) {
      const Tensor& weight = saved[1].get(node);
      grads[0] = is_plain(weight, g) ? input(g, weight) : matmul(g, weight);
    }
    if (node.needs(1)) {
      const Tensor& x = saved[0].get(node);
      grads[1] = is_plain(x, g) ? weights(g, x) : matmul(g.t(), x);
    }
    if (grads.size() > 2 && node.needs(2)) grads[2] = sum(g, 0);
  }
  static bool is_plain(const Tensor& t, const Tensor& grad) {
    return t.is_contiguous() && t.dtype() == grad.dtype();
  }
  static Tensor input(const Tensor& g, const Tensor& weight) {
    return g.dtype() == DType::kF32 ? input_as<float>(g, weight) : input_as<double>(g, weight);
  }
  static Tensor weights(const Tensor& g, const Tensor& x) {
    return g.dtype() == DType::kF32 ? weights_as<float>(g, x) : weights_as<double>(g, x);
  }
  template <typename T>
  static Tensor input_as(const Tensor& g, const Tensor& weight) {
    const std::int64_t rows = g.size(0), out = g.size(1), in = weight.size(1);
    Tensor result = Tensor::empty({rows, in}, g.dtype());
    kernels::gemm<T>({rows, in, out}, T{1}, {g.data<T>(), out}, {weight.data<T>(), in}, T{0},
                     result.data<T>(), in);
    return result;
  }
  template <typename T>
  static Tensor weights_as(const Tensor& g, const Tensor& x) {
    const std::int64_t rows = g.size(0), out = g.size(1), in = x.size(1);
    Tensor result = Tensor::empty({out, in}, g.dtype());
    kernels::gemm<T>({out, in, rows}, T{1}, {g.data<T>(), out, kernels::Transpose::kYes},
                     {x.data<T>(), in}, T{0}, result.data<T>(), in);
    return result;
  }
};

struct LogSoftmax : Saves<1> {
  static constexpr std::string_view kName = "LogSoftmaxBackward0";
  std::int64_t dim = 0;
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    grads[0] = sub(grad, mul(exp(saved[0].get(node)), sum(grad, dim, true)));
  }
};

struct Softmax : Saves<1> {
  static constexpr std::string_view kName = "SoftmaxBackward0";
  std::int64_t dim = 0;
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor& output = saved[0].get(node);
    grads[0] = mul(output, sub(grad, sum(mul(grad, output), dim, true)));
  }
};

Tensor matmul_recorded(const Tensor& a, const Tensor& b) {
  const NoGrad no_grad;
  Tensor output = matmul(a, b);
  return record(std::move(output), Matmul{{save_for(b, a), save_for(a, b)}, a.dim(), b.dim()}, a,
                b);
}

Tensor linear_recorded(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const NoGrad no_grad;
  Tensor output = linear(x, weight, bias);
  return record(std::move(output), Linear{{save_for(weight, x), save_for(x, weight)}}, x, weight,
                bias);
}

template <typename Op>
Tensor record_softmax(Tensor output, const Tensor& a, std::int64_t dim) {
  Op op;
  op.saved = {save_result(output)};
  op.dim = dim;
  return record(std::move(output), std::move(op), a);
}

}  // namespace

void fill_products(AutogradTable& table) {
  table.matmul = matmul_recorded;
  table.linear = linear_recorded;
  table.log_softmax = [](const Tensor& a, std::int64_t dim) {
    const NoGrad no_grad;
    return record_softmax<LogSoftmax>(log_softmax(a, dim), a, dim);
  };
  table.softmax = [](const Tensor& a, std::int64_t dim) {
    const NoGrad no_grad;
    return record_softmax<Softmax>(softmax(a, dim), a, dim);
  };
}

}  // namespace plab::nn
