#pragma once
// SPDX-License-Identifier: Apache-2.0
// Whole files: read in one go, replaced in one go.

#include <cstdint>
#include <filesystem>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace plab::os {

/// The bytes of a file, also of one without a size such as those in /proc.
/// @throws SystemError (ENOENT, EISDIR, EACCES ...) with the path; ResourceError when it is longer
/// than `limit`
[[nodiscard]] std::string read_file(const std::filesystem::path& path,
                                    std::uint64_t limit = UINT64_MAX,
                                    std::source_location where = std::source_location::current());

/// Replaces a file: whoever reads `path` sees the old bytes or the new ones, never a part, also
/// after a crash. Writes a file of another name in the same folder, syncs it, renames it. The
/// permissions are 0644 less the umask.
/// @throws SystemError with the path; nothing is left behind then
void write_file(const std::filesystem::path& path, std::string_view bytes,
                std::source_location where = std::source_location::current());

/// The names in a folder that begin with `prefix`; none when there is no such folder.
[[nodiscard]] std::vector<std::string> list_folder(const std::filesystem::path& path,
                                                   std::string_view prefix);

}  // namespace plab::os
