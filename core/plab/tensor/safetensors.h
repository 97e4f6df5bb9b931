#pragma once
// SPDX-License-Identifier: Apache-2.0
// Files of named tensors in the safetensors format, which Python's package of that name reads and
// writes: 8 bytes with the length of a JSON header, the header, the bytes of the tensors.

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "plab/tensor/tensor.h"

namespace plab {

/// What a file holds. Tensors are named; `metadata` is text for people and programs.
struct SafeTensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The longest header that is read: 100 MB, the limit of the format's reference implementation.
inline constexpr std::size_t kMaxSafeTensorsHeader = 100'000'000;

/// Reads a whole file. Every tensor is row-major and has a storage of its own. A file is not
/// trusted: its header may be damaged or hostile, and no more memory is taken than the file is
/// long.
/// @throws SystemError when it cannot be read; CorruptError naming the file and the tensor for: a
/// header longer than the file or over 100 MB, not JSON, not UTF-8, or naming a tensor twice; an
/// unknown dtype; over eight dimensions; offsets outside the file, overlapping or with a gap; a
/// size of the bytes that is not that of the shape
/// @blocks while the file is read
[[nodiscard]] SafeTensors load_safetensors(const std::filesystem::path& file);

/// The same from bytes in memory; `name` stands for the file in errors.
[[nodiscard]] SafeTensors parse_safetensors(std::span<const std::byte> bytes,
                                            std::string_view name);

/// Writes a file at once: whoever reads `file` sees the old bytes or the new ones. A tensor that is
/// not row-major is written as if it were; what shares storage is written once per name.
/// @throws SystemError when it cannot be written (nothing is left behind then); ContractError for
/// an undefined tensor, a name or text that is not UTF-8, or the name "__metadata__"
/// @blocks until the bytes are on the disk
void save_safetensors(const std::filesystem::path& file, const SafeTensors& content);

}  // namespace plab
