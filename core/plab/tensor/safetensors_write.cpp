// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/safetensors.h"
#include "plab/tensor/safetensors_format.h"

namespace plab {

namespace {

using nlohmann::json;
using safetensors::kCodes;
using safetensors::kLengthBytes;
using safetensors::kMetadata;
using safetensors::shown;

std::string_view code_of(DType dtype) {
  return std::ranges::find(kCodes, dtype, &safetensors::Code::dtype)->text;
}

// The order in the file: larger elements first, so that each tensor is aligned to its element.
std::vector<std::pair<std::string, Tensor>> in_order(const SafeTensors& content) {
  std::vector<std::pair<std::string, Tensor>> out;
  const NoGrad guard;
  for (const auto& [name, tensor] : content.tensors) {
    if (name == kMetadata || !tensor.defined()) {
      throw ContractError(
          fmt::format("[tensor.safetensors] tensor {} cannot be written: {}", shown(name),
                      tensor.defined() ? "the name is reserved" : "it is undefined"));
    }
    out.emplace_back(name, tensor.contiguous());
  }
  std::ranges::stable_sort(out, std::greater<>{},
                           [](const auto& item) { return item_size(item.second.dtype()); });
  return out;
}

}  // namespace

void save_safetensors(const std::filesystem::path& file, const SafeTensors& content) {
  const auto tensors = in_order(content);
  json header = json::object();
  if (!content.metadata.empty()) header[std::string(kMetadata)] = content.metadata;
  std::size_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t bytes = static_cast<std::size_t>(tensor.numel()) * item_size(tensor.dtype());
    header[name] = {
        {"dtype", code_of(tensor.dtype())},
        {"shape", std::vector<std::int64_t>(tensor.sizes().begin(), tensor.sizes().end())},
        {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::type_error& problem) {
    throw ContractError(
        fmt::format("[tensor.safetensors] {}: a name or text of the metadata is not UTF-8 ({})",
                    file.string(), problem.what()));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8
  const std::uint64_t length = text.size();
  std::string out(kLengthBytes, '\0');
  std::memcpy(out.data(), &length, kLengthBytes);
  out.reserve(kLengthBytes + text.size() + at);
  out += text;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.numel() == 0) continue;
    out.append(static_cast<const char*>(tensor.raw_data()),
               static_cast<std::size_t>(tensor.numel()) * item_size(tensor.dtype()));
  }
  os::write_file(file, out);
}

}  // namespace plab
