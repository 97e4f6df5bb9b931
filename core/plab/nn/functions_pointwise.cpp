// SPDX-License-Identifier: Apache-2.0
// Element-wise operations, recorded.
#include "plab/nn/functions.h"
#include "plab/nn/record.h"
#include "plab/tensor/kernels.h"
#include "plab/tensor/ops.h"

namespace plab::nn {

namespace {

using Grads = std::span<Tensor>;

// 1 where the condition holds, as numbers of the gradient's dtype.
Tensor mask(const Tensor& condition, const Tensor& like) { return condition.to(like.dtype()); }

struct Add : Saves<0> {
  static constexpr std::string_view kName = "AddBackward0";
  static void backward(const Node& node, const Tensor& grad, Grads grads) {
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (node.needs(i)) grads[i] = grad;
    }
  }
};

struct Sub : Saves<0> {
  static constexpr std::string_view kName = "SubBackward0";
  static void backward(const Node& node, const Tensor& grad, Grads grads) {
    if (node.needs(0)) grads[0] = grad;
    if (node.needs(1)) grads[1] = neg(grad);
  }
};

struct Mul : Saves<2> {
  static constexpr std::string_view kName = "MulBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    if (node.needs(0)) grads[0] = mul(grad, saved[1].get(node));
    if (node.needs(1)) grads[1] = mul(grad, saved[0].get(node));
  }
};

struct Div : Saves<2> {
  static constexpr std::string_view kName = "DivBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor& b = saved[1].get(node);
    if (node.needs(0)) grads[0] = div(grad, b);
    if (node.needs(1)) grads[1] = neg(mul(grad, div(div(saved[0].get(node), b), b)));
  }
};

// Where both are equal each gets half, as in PyTorch.
struct Maximum : Saves<2> {
  static constexpr std::string_view kName = "MaximumBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor& a = saved[0].get(node);
    const Tensor& b = saved[1].get(node);
    const Tensor tie = mask(eq(a, b), grad) * 0.5;
    if (node.needs(0)) grads[0] = mul(grad, add(mask(gt(a, b), grad), tie));
    if (node.needs(1)) grads[1] = mul(grad, add(mask(lt(a, b), grad), tie));
  }
};

struct MulScalar : Saves<0> {
  static constexpr std::string_view kName = "MulBackward0";
  double factor = 1;
  void backward(const Node& /*node*/, const Tensor& grad, Grads grads) const {
    grads[0] = grad * factor;
  }
};

struct Pow : Saves<1> {
  static constexpr std::string_view kName = "PowBackward0";
  double exponent = 1;
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor& a = saved[0].get(node);
    grads[0] = exponent == 0 ? Tensor::zeros(a.sizes(), grad.dtype())
                             : mul(grad, pow(a, exponent - 1) * exponent);
  }
};

struct Neg : Saves<0> {
  static constexpr std::string_view kName = "NegBackward0";
  static void backward(const Node& /*node*/, const Tensor& grad, Grads grads) {
    grads[0] = neg(grad);
  }
};

struct Abs : Saves<1> {
  static constexpr std::string_view kName = "AbsBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    const Tensor& a = saved[0].get(node);
    const Tensor zero = Tensor::scalar(0, a.dtype());
    grads[0] = mul(grad, sub(mask(gt(a, zero), grad), mask(lt(a, zero), grad)));
  }
};

struct Exp : Saves<1> {
  static constexpr std::string_view kName = "ExpBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    grads[0] = mul(grad, saved[0].get(node));
  }
};

struct Log : Saves<1> {
  static constexpr std::string_view kName = "LogBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    grads[0] = div(grad, saved[0].get(node));
  }
};

struct Sqrt : Saves<1> {
  static constexpr std::string_view kName = "SqrtBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    grads[0] = div(grad, saved[0].get(node) * 2);
  }
};

template <typename T>
using Kernel = void (*)(const T*, const T*, T*, std::size_t);

// Runs a kernel (gradient, output) -> gradient. It overwrites the gradient when nobody else holds
// it: that saves a buffer for each layer of a network.
Tensor through(const Tensor& grad, const Tensor& output, Kernel<float> f32, Kernel<double> f64) {
  const Tensor from = grad.contiguous();
  // two: `grad` itself and `from`
  const bool is_free =
      from.is_same(grad) && grad.use_count() == 2 && grad.storage().use_count() == 1;
  Tensor to = is_free ? from : Tensor::empty(from.sizes(), from.dtype());
  const auto n = static_cast<std::size_t>(from.numel());
  if (from.dtype() == DType::kF32) {
    f32(from.data<float>(), output.data<float>(), to.data<float>(), n);
  } else {
    f64(from.data<double>(), output.data<double>(), to.data<double>(), n);
  }
  return to;
}

struct Tanh : Saves<1> {
  static constexpr std::string_view kName = "TanhBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    grads[0] = through(grad, saved[0].get(node), kernels::tanh_backward<float>,
                       kernels::tanh_backward<double>);
  }
};

struct Relu : Saves<1> {
  static constexpr std::string_view kName = "ReluBackward0";
  void backward(const Node& node, const Tensor& grad, Grads grads) {
    grads[0] = through(grad, saved[0].get(node), kernels::relu_backward<float>,
                       kernels::relu_backward<double>);
  }
};

// The result of the plain operation: called with recording off.
template <typename F>
Tensor plain(F&& operation) {
  const NoGrad no_grad;
  return operation();
}

// An operation whose backward uses its own result, which has to be row-major for the kernels.
template <typename Op>
Tensor record_with_result(Tensor output, const Tensor& a) {
  Op op;
  op.saved[0] = save_result(output);
  return record(std::move(output), std::move(op), a);
}

Tensor add_recorded(const Tensor& a, const Tensor& b) {
  return record(plain([&] { return add(a, b); }), Add{}, a, b);
}
Tensor sub_recorded(const Tensor& a, const Tensor& b) {
  return record(plain([&] { return sub(a, b); }), Sub{}, a, b);
}
Tensor mul_recorded(const Tensor& a, const Tensor& b) {
  return record(plain([&] { return mul(a, b); }), Mul{{save_for(b, a), save_for(a, b)}}, a, b);
}
Tensor div_recorded(const Tensor& a, const Tensor& b) {
  return record(plain([&] { return div(a, b); }), Div{{save_for(b, a), SavedTensor(b)}}, a, b);
}
Tensor maximum_recorded(const Tensor& a, const Tensor& b) {
  return record(plain([&] { return maximum(a, b); }), Maximum{{SavedTensor(a), SavedTensor(b)}}, a,
                b);
}
Tensor add_scalar_recorded(const Tensor& a, double b) {
  return record(plain([&] { return a + b; }), Add{}, a);
}
Tensor mul_scalar_recorded(const Tensor& a, double b) {
  return record(plain([&] { return a * b; }), MulScalar{{}, b}, a);
}
Tensor pow_recorded(const Tensor& a, double exponent) {
  return record(plain([&] { return pow(a, exponent); }), Pow{{SavedTensor(a)}, exponent}, a);
}

}  // namespace

void fill_pointwise(AutogradTable& table) {
  table.add = add_recorded;
  table.sub = sub_recorded;
  table.mul = mul_recorded;
  table.div = div_recorded;
  table.maximum = maximum_recorded;
  table.add_scalar = add_scalar_recorded;
  table.mul_scalar = mul_scalar_recorded;
  table.pow = pow_recorded;
  table.neg = [](const Tensor& a) { return record(plain([&] { return neg(a); }), Neg{}, a); };
  table.abs = [](const Tensor& a) {
    return record(plain([&] { return abs(a); }), Abs{{SavedTensor(a)}}, a);
  };
  table.exp = [](const Tensor& a) {
    return record_with_result<Exp>(plain([&] { return exp(a); }), a);
  };
  table.log = [](const Tensor& a) {
    return record(plain([&] { return ln(a); }), Log{{SavedTensor(a)}}, a);
  };
  table.sqrt = [](const Tensor& a) {
    return record_with_result<Sqrt>(plain([&] { return sqrt(a); }), a);
  };
  table.tanh = [](const Tensor& a) {
    return record_with_result<Tanh>(plain([&] { return tanh(a); }), a);
  };
  table.relu = [](const Tensor& a) {
    return record_with_result<Relu>(plain([&] { return relu(a); }), a);
  };
}

}  // namespace plab::nn
