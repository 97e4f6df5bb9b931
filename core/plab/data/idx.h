#pragma once
// SPDX-License-Identifier: Apache-2.0
// Reads IDX files, the format of MNIST: 0, 0, type, dimensions, then the sizes and the values, all
// big-endian.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "plab/data/dataset.h"

namespace plab::data {

struct IdxOptions {
  std::int64_t most_classes = 10'000;                  ///< labels reach from 0 to this, less one
  std::uint64_t most_bytes = std::uint64_t{1} << 30U;  ///< the longest file, after unpacking
};

/// One array. Unsigned and signed bytes, 16- and 32-bit integers, floats and doubles; as float32,
/// except that integers of all widths become int64 when `as_labels` asks for whole numbers.
enum class IdxValues { kFeatures, kLabels };

/// Parses the bytes of an IDX file: float32 for kFeatures, int64 for kLabels, in the file's shape.
/// @throws DataError naming `name` and the byte: wrong magic or type, a size that does not fit the
///         length (cut off, or bytes left over), more than 8 dimensions, NaN or infinity
[[nodiscard]] Tensor parse_idx(std::string_view bytes, const std::string& name, IdxValues values);

/// Reads a pair of files, samples and labels, each plain or packed by gzip. Samples of more than
/// one dimension (images) are flattened to rows.
/// @throws DataError as parse_idx(), and when the numbers of samples and labels differ, a label is
///         negative or too large, one class only, a folder, a file that cannot be read
[[nodiscard]] TensorDataset read_idx_pair(const std::filesystem::path& samples,
                                          const std::filesystem::path& labels,
                                          const IdxOptions& options = {});

/// Whether the file begins as IDX does, packed or not; false too when it cannot be read.
[[nodiscard]] bool looks_like_idx(const std::filesystem::path& path) noexcept;

/// The labels file that belongs to a samples file by MNIST's names: "images-idx3" becomes
/// "labels-idx1", "images" becomes "labels"; .gz is tried with and without. Empty when there is
/// none.
[[nodiscard]] std::filesystem::path labels_beside(const std::filesystem::path& samples);

}  // namespace plab::data
