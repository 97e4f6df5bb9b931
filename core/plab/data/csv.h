#pragma once
// SPDX-License-Identifier: Apache-2.0
// Reads numbers from comma-separated text (RFC 4180): one sample a line, one column of it the
// label.

#include <filesystem>
#include <string>
#include <string_view>

#include "plab/data/dataset.h"

namespace plab::data {

struct CsvOptions {
  /// The label's column: a name of the header line, a number from 0 (-1 is the last, -2 the one
  /// before). Empty: the last.
  std::string label{};
  /// Labels reach from 0 to this, less one.
  std::int64_t most_classes = 10'000;
  /// The longest text that is read, after unpacking.
  std::uint64_t most_bytes = std::uint64_t{1} << 30U;
};

/// Reads a CSV file, also one packed by gzip (known by its first bytes, not by its name). Fields
/// may be quoted; lines end with LF or CRLF; blank lines at the end are fine; a first line with a
/// field that is no number is the header. Numbers are decimal, as in 1, -2.5, 3e4, with blanks
/// around.
/// @throws DataError naming file, line and column, what was found and what is valid: for a line
///         with another number of fields, text, NaN or infinity in a number, a label that is not
///         whole, negative or too large, an empty file, one class only, a folder, a file that
///         cannot be read, damaged or endless gzip
[[nodiscard]] TensorDataset read_csv(const std::filesystem::path& path,
                                     const CsvOptions& options = {});

/// The same for text that is in memory; `name` stands in messages.
[[nodiscard]] TensorDataset parse_csv(std::string_view text, const std::string& name,
                                      const CsvOptions& options = {});

}  // namespace plab::data
