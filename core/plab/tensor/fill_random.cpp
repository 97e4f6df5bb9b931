// SPDX-License-Identifier: Apache-2.0
// Tensors of random numbers.
#include <cmath>

#include "plab/tensor/convert.h"
#include "plab/tensor/elementwise.h"
#include "plab/tensor/random.h"
#include "plab/tensor/strided.h"
#include "plab/tensor/tensor_impl.h"

namespace plab {

namespace {

// Row-major, so the numbers do not depend on the strides.
template <typename Next>
void fill(const Tensor& out, Next next) {
  const detail::Nest<1> nest(out.sizes(), {out.strides()});
  detail::visit_any(out.dtype(), [&]<typename T>() {
    auto* const to = static_cast<T*>(out.raw_data());
    nest.for_each_row([&](std::int64_t n, const std::array<detail::RowOf, 1>& row) {
      for (std::int64_t i = 0; i < n; ++i) {
        to[row[0].offset + i * row[0].step] = detail::convert<T>(next.template operator()<T>());
      }
    });
  });
}

// As many bits as the type holds, so that rounding never gives 1.
template <typename T>
auto uniform(Generator& generator) {
  if constexpr (std::is_same_v<T, double>) {
    return generator.next_uniform();
  } else {
    constexpr int kBits = std::is_same_v<T, Half> ? 11 : std::is_same_v<T, BFloat16> ? 8 : 24;
    return std::ldexp(static_cast<float>(generator.next_u32() >> (32 - kBits)), -kBits);
  }
}

void check_floating(DType dtype, std::string_view operation) {
  if (!is_floating(dtype)) detail::throw_not_floating(dtype, operation);
}

}  // namespace

Tensor Tensor::rand(const Shape& shape, Generator& generator, DType dtype) {
  check_floating(dtype, "rand");
  Tensor out = empty(shape, dtype);
  fill(out, [&]<typename T>() { return uniform<T>(generator); });
  return out;
}

Tensor Tensor::randn(const Shape& shape, Generator& generator, DType dtype) {
  check_floating(dtype, "randn");
  Tensor out = empty(shape, dtype);
  fill(out, [&]<typename T>() { return generator.next_normal(); });
  return out;
}

Tensor Tensor::randint(std::int64_t low, std::int64_t high, const Shape& shape,
                       Generator& generator, DType dtype) {
  if (low >= high) {
    throw ContractError(
        fmt::format("[tensor.randint] [{}, {}) is empty; low must be under high", low, high));
  }
  Tensor out = empty(shape, dtype);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  fill(out, [&]<typename T>() {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + generator.next_below(range));
  });
  return out;
}

Tensor Tensor::randperm(std::int64_t n, Generator& generator) {
  Tensor out = arange(n);
  std::int64_t* const at = out.data<std::int64_t>();
  for (std::int64_t i = n - 1; i > 0; --i) {  // Fisher-Yates, from the end
    std::swap(at[i], at[generator.next_below(static_cast<std::uint64_t>(i) + 1)]);
  }
  return out;
}

const Tensor& Tensor::uniform_(double low, double high, Generator& generator) const {
  detail::check_writable(*this, Tensor(), "uniform_");
  check_floating(dtype(), "uniform_");
  if (!(low <= high)) {
    throw ContractError(fmt::format("[tensor.uniform_] low {} is not at most high {}", low, high));
  }
  fill(*this, [&]<typename T>() {
    return low + static_cast<double>(uniform<T>(generator)) * (high - low);
  });
  return *this;
}

const Tensor& Tensor::normal_(double mean, double std, Generator& generator) const {
  detail::check_writable(*this, Tensor(), "normal_");
  check_floating(dtype(), "normal_");
  if (!(std >= 0)) {
    throw ContractError(fmt::format("[tensor.normal_] std {} is not 0 or more", std));
  }
  fill(*this, [&]<typename T>() { return mean + std * generator.next_normal(); });
  return *this;
}

}  // namespace plab
