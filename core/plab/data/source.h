#pragma once
// SPDX-License-Identifier: Apache-2.0
// The bytes of a data file, unpacked when it is packed by gzip.

#include <cstdint>
#include <filesystem>
#include <string>

namespace plab::data {

/// Reads a file of at most `most_bytes` after unpacking. What is packed is known by its first
/// bytes.
/// @throws DataError when it is a folder, cannot be read, is longer, or its gzip data is damaged
[[nodiscard]] std::string read_source(const std::filesystem::path& path, std::uint64_t most_bytes);

/// Unpacks gzip data (several members are joined). The memory that it takes grows with what comes
/// out, never with what the data says of itself.
/// @throws DataError naming `name` when it is damaged, cut off, or unpacks to more than
/// `most_bytes`
[[nodiscard]] std::string unpack_gzip(std::string_view packed, const std::string& name,
                                      std::uint64_t most_bytes);

}  // namespace plab::data
