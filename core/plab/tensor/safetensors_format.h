#pragma once
// SPDX-License-Identifier: Apache-2.0
// What reading and writing a safetensors file have in common. Internal to the layer.

#include <array>
#include <bit>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "plab/tensor/dtype.h"

namespace plab::safetensors {

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian");

inline constexpr std::string_view kMetadata = "__metadata__";
inline constexpr std::size_t kLengthBytes = 8;

/// The format's word for a dtype.
struct Code {
  DType dtype;
  std::string_view text;
};
inline constexpr std::array<Code, 8> kCodes{{{DType::kF32, "F32"},
                                             {DType::kF64, "F64"},
                                             {DType::kI32, "I32"},
                                             {DType::kI64, "I64"},
                                             {DType::kU8, "U8"},
                                             {DType::kBool, "BOOL"},
                                             {DType::kF16, "F16"},
                                             {DType::kBF16, "BF16"}}};

/// A name of a file that is not trusted, for a message: shortened, control characters shown.
[[nodiscard]] inline std::string shown(std::string_view name) {
  using nlohmann::json;
  return json(std::string(name.substr(0, 80))).dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace plab::safetensors
