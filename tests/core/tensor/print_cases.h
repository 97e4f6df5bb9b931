#pragma once
// SPDX-License-Identifier: Apache-2.0
// What PyTorch 1.13 prints for these tensors; generated with it, do not edit by hand.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "plab/tensor/ops.h"

namespace plab::test {

struct PrintCase {
  const char* what;
  Tensor tensor;
  std::string expected;
};

// clang-format off
inline std::vector<PrintCase> print_cases() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<PrintCase> out;
  out.push_back({"1-d floats",
    Tensor::of<float>({1.5F, -2.25F, 3}),
    R"(tensor([ 1.5000, -2.2500,  3.0000]))"});
  out.push_back({"whole floats get a point",
    Tensor::of<float>({1, 2, 3}),
    R"(tensor([1., 2., 3.]))"});
  out.push_back({"whole floats with inf and nan",
    Tensor::of<float>({1, kInf, -kInf, kNan}),
    R"(tensor([1., inf, -inf, nan]))"});
  out.push_back({"only inf and nan",
    Tensor::of<float>({kInf, -kInf, kNan}),
    R"(tensor([inf, -inf, nan]))"});
  out.push_back({"broken floats with inf and nan",
    Tensor::of<float>({1.5F, kInf, -kInf, kNan}),
    R"(tensor([1.5000,    inf,   -inf,    nan]))"});
  out.push_back({"zeros",
    Tensor::zeros({3}),
    R"(tensor([0., 0., 0.]))"});
  out.push_back({"negative zero",
    Tensor::of<float>({-0.0F, 0, 1}),
    R"(tensor([-0., 0., 1.]))"});
  out.push_back({"integers",
    Tensor::of<std::int64_t>({1, -20, 300}),
    R"(tensor([  1, -20, 300]))"});
  out.push_back({"int32",
    Tensor::of<std::int32_t>({7, 8}),
    R"(tensor([7, 8], dtype=torch.int32))"});
  out.push_back({"uint8",
    Tensor::of<std::uint8_t>({0, 255, 13}),
    R"(tensor([  0, 255,  13], dtype=torch.uint8))"});
  out.push_back({"bool",
    Tensor::of<bool>({true, false, true}),
    R"(tensor([ True, False,  True]))"});
  out.push_back({"all true",
    Tensor::of<bool>({true, true}),
    R"(tensor([True, True]))"});
  out.push_back({"float64",
    Tensor::of<double>({0.1, 0.2}),
    R"(tensor([0.1000, 0.2000], dtype=torch.float64))"});
  out.push_back({"float16",
    Tensor::of<float>({1.5F, 2}).to(DType::kF16),
    R"(tensor([1.5000, 2.0000], dtype=torch.float16))"});
  out.push_back({"bfloat16",
    Tensor::of<float>({0.1F, 2}).to(DType::kBF16),
    R"(tensor([0.1001, 2.0000], dtype=torch.bfloat16))"});
  out.push_back({"scientific by ratio",
    Tensor::of<float>({0.001F, 1000.5F}),
    R"(tensor([1.0000e-03, 1.0005e+03]))"});
  out.push_back({"scientific by smallness",
    Tensor::of<float>({0.00001F, 0.00002F}),
    R"(tensor([1.0000e-05, 2.0000e-05]))"});
  out.push_back({"not scientific at 1e-4 in float64",
    Tensor::of<double>({1e-4, 2e-4}),
    R"(tensor([0.0001, 0.0002], dtype=torch.float64))"});
  out.push_back({"scientific at 1e-4 in float32",
    Tensor::of<float>({1e-4F, 2e-4F}),
    R"(tensor([1.0000e-04, 2.0000e-04]))"});
  out.push_back({"scientific by size",
    Tensor::of<float>({123456789.0F, 200000000.0F}),
    R"(tensor([1.2346e+08, 2.0000e+08]))"});
  out.push_back({"whole, ratio just 1000",
    Tensor::of<float>({1, 1000}),
    R"(tensor([   1., 1000.]))"});
  out.push_back({"whole, ratio over 1000",
    Tensor::of<float>({1, 1001}),
    R"(tensor([1.0000e+00, 1.0010e+03]))"});
  out.push_back({"scientific with nan and zero",
    Tensor::of<float>({0, 1e10F, -kInf, kNan, 1e-10F}),
    R"(tensor([0.0000e+00, 1.0000e+10,       -inf,        nan, 1.0000e-10]))"});
  out.push_back({"three-digit exponent",
    Tensor::of<double>({1e-200, 1e200}),
    R"(tensor([1.0000e-200, 1.0000e+200], dtype=torch.float64))"});
  out.push_back({"matrix",
    Tensor::of<float>({1, 2, 3, 4, 5, 6.5F}).view({2, 3}),
    R"(tensor([[1.0000, 2.0000, 3.0000],
        [4.0000, 5.0000, 6.5000]]))"});
  out.push_back({"transposed",
    Tensor::arange(6).view({2, 3}).t(),
    R"(tensor([[0, 3],
        [1, 4],
        [2, 5]]))"});
  out.push_back({"3-d",
    Tensor::arange(12).view({2, 3, 2}),
    R"(tensor([[[ 0,  1],
         [ 2,  3],
         [ 4,  5]],

        [[ 6,  7],
         [ 8,  9],
         [10, 11]]]))"});
  out.push_back({"4-d",
    Tensor::arange(16, DType::kF32).view({2, 2, 2, 2}),
    R"(tensor([[[[ 0.,  1.],
          [ 2.,  3.]],

         [[ 4.,  5.],
          [ 6.,  7.]]],


        [[[ 8.,  9.],
          [10., 11.]],

         [[12., 13.],
          [14., 15.]]]]))"});
  out.push_back({"long row wraps",
    Tensor::arange(40),
    R"(tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,
        36, 37, 38, 39]))"});
  out.push_back({"long float row wraps",
    Tensor::arange(30, DType::kF32) / 7.0,
    R"(tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,
        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286,
        2.5714, 2.7143, 2.8571, 3.0000, 3.1429, 3.2857, 3.4286, 3.5714, 3.7143,
        3.8571, 4.0000, 4.1429]))"});
  out.push_back({"nested long rows wrap",
    Tensor::arange(60).view({2, 30}),
    R"(tensor([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
         18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
        [30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
         48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59]]))"});
  out.push_back({"1000 elements are all shown",
    Tensor::ones({1000}, DType::kU8),
    R"(tensor([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], dtype=torch.uint8))"});
  out.push_back({"1001 elements are summarised",
    Tensor::arange(1001),
    R"(tensor([   0,    1,    2,  ...,  998,  999, 1000]))"});
  out.push_back({"summarised matrix",
    Tensor::arange(10000).view({100, 100}),
    R"(tensor([[   0,    1,    2,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  197,  198,  199],
        [ 200,  201,  202,  ...,  297,  298,  299],
        ...,
        [9700, 9701, 9702,  ..., 9797, 9798, 9799],
        [9800, 9801, 9802,  ..., 9897, 9898, 9899],
        [9900, 9901, 9902,  ..., 9997, 9998, 9999]]))"});
  out.push_back({"summarised floats",
    Tensor::arange(2000, DType::kF32).view({1000, 2}) / 3.0,
    R"(tensor([[0.0000e+00, 3.3333e-01],
        [6.6667e-01, 1.0000e+00],
        [1.3333e+00, 1.6667e+00],
        ...,
        [6.6467e+02, 6.6500e+02],
        [6.6533e+02, 6.6567e+02],
        [6.6600e+02, 6.6633e+02]]))"});
  out.push_back({"summarised with short rows",
    Tensor::arange(1200).view({300, 4}),
    R"(tensor([[   0,    1,    2,    3],
        [   4,    5,    6,    7],
        [   8,    9,   10,   11],
        ...,
        [1188, 1189, 1190, 1191],
        [1192, 1193, 1194, 1195],
        [1196, 1197, 1198, 1199]]))"});
  out.push_back({"summarised 3-d",
    Tensor::arange(1400).view({2, 100, 7}),
    R"(tensor([[[   0,    1,    2,  ...,    4,    5,    6],
         [   7,    8,    9,  ...,   11,   12,   13],
         [  14,   15,   16,  ...,   18,   19,   20],
         ...,
         [ 679,  680,  681,  ...,  683,  684,  685],
         [ 686,  687,  688,  ...,  690,  691,  692],
         [ 693,  694,  695,  ...,  697,  698,  699]],

        [[ 700,  701,  702,  ...,  704,  705,  706],
         [ 707,  708,  709,  ...,  711,  712,  713],
         [ 714,  715,  716,  ...,  718,  719,  720],
         ...,
         [1379, 1380, 1381,  ..., 1383, 1384, 1385],
         [1386, 1387, 1388,  ..., 1390, 1391, 1392],
         [1393, 1394, 1395,  ..., 1397, 1398, 1399]]]))"});
  out.push_back({"summarised with a small first dimension",
    Tensor::arange(1200).view({3, 400}),
    R"(tensor([[   0,    1,    2,  ...,  397,  398,  399],
        [ 400,  401,  402,  ...,  797,  798,  799],
        [ 800,  801,  802,  ..., 1197, 1198, 1199]]))"});
  out.push_back({"summarised int32",
    Tensor::arange(1001, DType::kI32),
    R"(tensor([   0,    1,    2,  ...,  998,  999, 1000], dtype=torch.int32))"});
  out.push_back({"width of the summarised part only",
    Tensor::arange(2001) - 1000,
    R"(tensor([-1000,  -999,  -998,  ...,   998,   999,  1000]))"});
  out.push_back({"scalar",
    Tensor::scalar(3.25),
    R"(tensor(3.2500))"});
  out.push_back({"whole scalar",
    Tensor::scalar(3),
    R"(tensor(3.))"});
  out.push_back({"integer scalar",
    Tensor::scalar(7, DType::kI64),
    R"(tensor(7))"});
  out.push_back({"bool scalar",
    Tensor::scalar(1, DType::kBool),
    R"(tensor(True))"});
  out.push_back({"small scalar",
    Tensor::scalar(1e-9),
    R"(tensor(1.0000e-09))"});
  out.push_back({"uint8 scalar",
    Tensor::scalar(9, DType::kU8),
    R"(tensor(9, dtype=torch.uint8))"});
  out.push_back({"nan scalar",
    Tensor::scalar(kNan),
    R"(tensor(nan))"});
  out.push_back({"empty",
    Tensor::empty({0}),
    R"(tensor([]))"});
  out.push_back({"empty matrix",
    Tensor::empty({0, 3}),
    R"(tensor([], size=(0, 3)))"});
  out.push_back({"empty 3-d",
    Tensor::empty({2, 0, 4}),
    R"(tensor([], size=(2, 0, 4)))"});
  out.push_back({"empty integers",
    Tensor::empty({0}, DType::kI64),
    R"(tensor([], dtype=torch.int64))"});
  out.push_back({"empty bool matrix",
    Tensor::empty({3, 0}, DType::kBool),
    R"(tensor([], size=(3, 0), dtype=torch.bool))"});
  out.push_back({"one element",
    Tensor::of<float>({0.5F}),
    R"(tensor([0.5000]))"});
  out.push_back({"nested singletons",
    Tensor::ones({1, 1, 1}),
    R"(tensor([[[1.]]]))"});
  out.push_back({"requires grad",
    Tensor::ones({2}).requires_grad_(),
    R"(tensor([1., 1.], requires_grad=True))"});
  out.push_back({"dtype moves to a new line",
    Tensor::arange(22, DType::kI32),
    R"(tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21], dtype=torch.int32))"});
  out.push_back({"dtype and requires grad",
    Tensor::of<double>({1.5}).requires_grad_(),
    R"(tensor([1.5000], dtype=torch.float64, requires_grad=True))"});
  out.push_back({"mixed magnitudes",
    Tensor::of<float>({0.5F, 100.25F, -7.125F}),
    R"(tensor([  0.5000, 100.2500,  -7.1250]))"});
  out.push_back({"largest int64",
    Tensor::of<std::int64_t>({INT64_MAX, INT64_MIN}),
    R"(tensor([ 9223372036854775807, -9223372036854775808]))"});
  out.push_back({"expanded",
    Tensor::arange(3).expand({2, 3}),
    R"(tensor([[0, 1, 2],
        [0, 1, 2]]))"});
  out.push_back({"slice with steps",
    Tensor::arange(20).slice(0, 1, 18, 4),
    R"(tensor([ 1,  5,  9, 13, 17]))"});
  out.push_back({"many large rows wrap in a matrix",
    Tensor::full({2, 12}, 123456.5),
    R"(tensor([[123456.5000, 123456.5000, 123456.5000, 123456.5000, 123456.5000,
         123456.5000, 123456.5000, 123456.5000, 123456.5000, 123456.5000,
         123456.5000, 123456.5000],
        [123456.5000, 123456.5000, 123456.5000, 123456.5000, 123456.5000,
         123456.5000, 123456.5000, 123456.5000, 123456.5000, 123456.5000,
         123456.5000, 123456.5000]]))"});
  out.push_back({"random floats 0",
    Tensor::of<float>({0x1.030b5a0000000p+11F, 0x1.5155f80000000p+11F, 0x1.5837400000000p+12F, 0x1.51f4860000000p+11F, 0x1.9487ae0000000p+12F, 0x1.3740b60000000p+11F, -0x1.a33e700000000p+11F, 0x1.1d38720000000p+12F}),
    R"(tensor([ 2072.3547,  2698.6865,  5507.4531,  2703.6414,  6472.4800,  2490.0222,
        -3353.9512,  4563.5278]))"});
  out.push_back({"random floats 1",
    Tensor::of<float>({-0x1.19c26a0000000p+12F, 0x1.57a1780000000p+16F, 0x1.99749e0000000p+16F, -0x1.1620be0000000p+12F}),
    R"(tensor([ -4508.1509,  87969.4688, 104820.6172,  -4450.0464]))"});
  out.push_back({"random floats 2",
    Tensor::of<float>({0x1.c28c3c0000000p-4F, -0x1.1f56b40000000p-7F, 0x1.5443340000000p-5F, 0x1.0731440000000p-4F, -0x1.c021920000000p-3F}),
    R"(tensor([ 0.1100, -0.0088,  0.0415,  0.0643, -0.2188]))"});
  out.push_back({"random floats 3",
    Tensor::of<float>({0x1.66f1320000000p+9F, -0x1.c94b020000000p+10F, 0x1.db5ccc0000000p+7F, -0x1.eba94e0000000p+10F, 0x1.32dbe00000000p+11F, 0x1.509dfa0000000p+9F, -0x1.5f76060000000p+10F, -0x1.a40d5e0000000p+9F, 0x1.7168920000000p+7F, -0x1.d806c20000000p+9F, -0x1.6502e00000000p+9F, -0x1.4737100000000p+10F, -0x1.0dd9520000000p+10F, 0x1.460c780000000p+9F, 0x1.76ebee0000000p+11F, 0x1.2ba4ec0000000p+7F, -0x1.b79cf00000000p+6F, -0x1.5995720000000p+9F, 0x1.6bc1940000000p+9F, -0x1.5a2d600000000p+10F, -0x1.1442b00000000p+10F, 0x1.5d3c180000000p+10F, -0x1.f4e2f40000000p+9F, 0x1.1e35940000000p+11F}),
    R"(tensor([  717.8843, -1829.1720,   237.6812, -1966.6454,  2454.8711,   673.2342,
        -1405.8441,  -840.1044,   184.7042,  -944.0528,  -714.0225, -1308.8604,
        -1079.3956,   652.0974,  2999.3728,   149.8221,  -109.9033,  -691.1675,
          727.5123, -1384.7090, -1105.0420,  1396.9390, -1001.7731,  2289.6743]))"});
  out.push_back({"random floats 4",
    Tensor::of<float>({-0x1.5d22e20000000p+0F, -0x1.459bce0000000p-4F, 0x1.457ec80000000p+0F, 0x1.1c717a0000000p-3F, 0x1.5cadb00000000p-3F, 0x1.c49ef60000000p-1F, -0x1.616e5a0000000p+0F, 0x1.0a2f860000000p-1F, 0x1.152d7a0000000p-1F, -0x1.9e4b9c0000000p-4F, 0x1.3553440000000p-2F, -0x1.3fdbd80000000p+0F, 0x1.1c991e0000000p-2F, 0x1.9716120000000p-1F, 0x1.b0559a0000000p-1F, 0x1.9c68e80000000p-1F, 0x1.e511e60000000p-1F, -0x1.39ddda0000000p+0F, 0x1.40466e0000000p-1F}),
    R"(tensor([-1.3638, -0.0795,  1.2715,  0.1389,  0.1703,  0.8840, -1.3806,  0.5199,
         0.5414, -0.1011,  0.3021, -1.2494,  0.2779,  0.7951,  0.8444,  0.8055,
         0.9474, -1.2260,  0.6255]))"});
  out.push_back({"random floats 5",
    Tensor::of<float>({0x1.a2e1240000000p-1F, -0x1.1a16f00000000p+1F, 0x1.147db80000000p+0F, 0x1.2c78860000000p-6F, 0x1.ba6aae0000000p+0F, 0x1.7745840000000p-1F, 0x1.2e333a0000000p+0F, 0x1.ce8c2e0000000p-2F, -0x1.4f198e0000000p-3F, 0x1.638d520000000p+0F, -0x1.cdcf400000000p-2F, 0x1.053b8e0000000p-1F, 0x1.9b4b5c0000000p+0F, 0x1.c571020000000p-1F, 0x1.30a05c0000000p+0F, -0x1.a387580000000p-1F, 0x1.02cdc60000000p-1F, 0x1.4f190a0000000p-1F, -0x1.81c8d80000000p-1F, 0x1.1d8b360000000p+0F, 0x1.f892f20000000p-1F, 0x1.a8278e0000000p-1F, -0x1.5d16120000000p+0F, 0x1.7346f00000000p-2F}),
    R"(tensor([ 0.8181, -2.2038,  1.0800,  0.0183,  1.7282,  0.7330,  1.1805,  0.4517,
        -0.1636,  1.3889, -0.4510,  0.5102,  1.6066,  0.8856,  1.1899, -0.8194,
         0.5055,  0.6545, -0.7535,  1.1154,  0.9855,  0.8284, -1.3636,  0.3626]))"});
  out.push_back({"random floats 6",
    Tensor::of<float>({0x1.7623380000000p-14F, 0x1.b61a5c0000000p-15F, 0x1.1dffa80000000p-14F, 0x1.1595960000000p-15F, 0x1.5414320000000p-14F, 0x1.53b8460000000p-14F, 0x1.5ebf080000000p-13F, -0x1.19fafa0000000p-13F, 0x1.7612d60000000p-13F}),
    R"(tensor([ 8.9201e-05,  5.2226e-05,  6.8187e-05,  3.3091e-05,  8.1081e-05,
         8.0996e-05,  1.6725e-04, -1.3446e-04,  1.7837e-04]))"});
  out.push_back({"random floats 7",
    Tensor::of<float>({-0x1.58dfee0000000p-16F, -0x1.3b473e0000000p-14F, 0x1.43c01c0000000p-13F, -0x1.6fc29c0000000p-14F, -0x1.9e62740000000p-16F, -0x1.0160d40000000p-14F, 0x1.0cc6340000000p-13F, 0x1.00303a0000000p-14F, 0x1.0a5e5c0000000p-13F, 0x1.2192f00000000p-15F, 0x1.10e4320000000p-20F, -0x1.8664be0000000p-15F, -0x1.449c3e0000000p-14F, 0x1.c2289a0000000p-16F, -0x1.5b308a0000000p-15F, -0x1.63b2800000000p-15F, 0x1.76eb8c0000000p-15F, 0x1.bb23d00000000p-15F, -0x1.da01e80000000p-15F, 0x1.7c91080000000p-16F, 0x1.a9c90e0000000p-14F, -0x1.41621e0000000p-13F}),
    R"(tensor([-2.0556e-05, -7.5168e-05,  1.5438e-04, -8.7681e-05, -2.4699e-05,
        -6.1364e-05,  1.2816e-04,  6.1080e-05,  1.2701e-04,  3.4520e-05,
         1.0166e-06, -4.6539e-05, -7.7393e-05,  2.6832e-05, -4.1388e-05,
        -4.2402e-05,  4.4694e-05,  5.2826e-05, -5.6506e-05,  2.2684e-05,
         1.0152e-04, -1.5325e-04]))"});
  out.push_back({"random floats 8",
    Tensor::of<float>({0x1.2f3d040000000p+17F, 0x1.5c84e60000000p+11F, -0x1.09e8d60000000p+14F, -0x1.b5e3640000000p+15F, -0x1.1f1ebe0000000p+17F, -0x1.5ce62a0000000p+12F, -0x1.1476bc0000000p+17F, 0x1.c959b00000000p+16F, -0x1.2804d20000000p+17F, 0x1.0f9cf20000000p+16F, -0x1.106fc00000000p+13F, 0x1.534b360000000p+14F, 0x1.7ac2400000000p+13F, 0x1.185ef20000000p+16F, -0x1.edf9140000000p+15F, -0x1.2495520000000p+15F, 0x1.4127360000000p+17F, 0x1.d50c020000000p+15F, -0x1.565c640000000p+14F}),
    R"(tensor([ 155258.0312,    2788.1531,  -17018.2090,  -56049.6953, -147005.4844,
          -5582.3853, -141549.4688,  117081.6875, -151561.6406,   69532.9453,
          -8717.9688,   21714.8027,   12120.2812,   71774.9453,  -63228.5391,
         -37450.6602,  164430.4219,   60038.0039,  -21911.0977]))"});
  out.push_back({"random floats 9",
    Tensor::of<float>({0x1.d900760000000p+8F, 0x1.b8352a0000000p+9F, 0x1.d2bf660000000p+6F, 0x1.51c5f00000000p+7F, -0x1.18d0120000000p+10F, 0x1.c4e4140000000p+10F, 0x1.3c14e00000000p+9F, -0x1.b5f8440000000p+9F, 0x1.65fab00000000p+8F, -0x1.b451fa0000000p+8F, -0x1.7c78bc0000000p+9F, 0x1.7d387e0000000p+10F, 0x1.29774e0000000p+10F, -0x1.a76f980000000p+8F, 0x1.bde3840000000p+10F}),
    R"(tensor([  473.0018,   880.4153,   116.6869,   168.8866, -1123.2511,  1811.5637,
          632.1631,  -875.9396,   357.9792,  -436.3202,  -760.9432,  1524.8827,
         1189.8641,  -423.4359,  1783.5549]))"});
  out.push_back({"random floats 10",
    Tensor::of<float>({0x1.d6b6340000000p-1F, 0x1.b2d0f40000000p-2F, 0x1.9bda9e0000000p-5F, 0x1.388b160000000p-1F, 0x1.4f87440000000p-2F, 0x1.a4b4400000000p-4F}),
    R"(tensor([0.9194, 0.4246, 0.0503, 0.6104, 0.3277, 0.1027]))"});
  out.push_back({"random floats 11",
    Tensor::of<float>({-0x1.459f120000000p+0F, -0x1.63e1200000000p-4F, 0x1.b61d6a0000000p-1F, 0x1.80225a0000000p+0F, 0x1.6ccd840000000p+0F, -0x1.ecd0500000000p-1F, -0x1.e42ef20000000p-1F, 0x1.a2815e0000000p+0F, 0x1.0817080000000p-3F, 0x1.63769c0000000p-2F, 0x1.005c100000000p+1F, -0x1.8614b40000000p-1F, 0x1.3600be0000000p+1F, 0x1.81cb5a0000000p-3F, -0x1.6326860000000p+0F, 0x1.4b75280000000p+0F, 0x1.54ebb20000000p-2F}),
    R"(tensor([-1.2720, -0.0869,  0.8557,  1.5005,  1.4250, -0.9625, -0.9457,  1.6348,
         0.1290,  0.3471,  2.0028, -0.7619,  2.4219,  0.1884, -1.3873,  1.2948,
         0.3329]))"});
  return out;
}
// clang-format on

}  // namespace plab::test
