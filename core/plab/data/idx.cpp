// SPDX-License-Identifier: Apache-2.0
#include "plab/data/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>
#include <type_traits>

#include "plab/base/error.h"
#include "plab/data/source.h"

namespace plab::data {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& name, std::size_t byte, const std::string& problem) {
  throw DataError(name, 0, 0, fmt::format("at byte {}: {}", byte, problem));
}

template <typename T>
T big_endian(const char* at) {
  using Bits = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) bits = bits << 8U | static_cast<std::uint8_t>(at[i]);
  return std::bit_cast<T>(static_cast<Bits>(bits));
}

struct Header {
  std::uint8_t type;
  Shape shape;
  std::size_t bytes;  // of the header: where the values start
};

std::size_t width_of(std::uint8_t type) {
  switch (type) {
    case 0x08:
    case 0x09:
      return 1;
    case 0x0B:
      return 2;
    case 0x0C:
    case 0x0D:
      return 4;
    case 0x0E:
      return 8;
    default:
      return 0;
  }
}

Header parse_header(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 4) fail(name, bytes.size(), "the file ends in the first number of IDX");
  if (bytes[0] != 0 || bytes[1] != 0) {
    fail(name, 0,
         fmt::format("{:#06x}; an IDX file begins with two zero bytes",
                     big_endian<std::uint16_t>(bytes.data())));
  }
  const auto type = static_cast<std::uint8_t>(bytes[2]);
  const auto dims = static_cast<std::uint8_t>(bytes[3]);
  const std::size_t width = width_of(type);
  if (width == 0) {
    fail(name, 2,
         fmt::format("type {:#04x}; IDX has 0x08 (uint8), 0x09 (int8), 0x0b (int16), 0x0c (int32), "
                     "0x0d (float) and 0x0e (double)",
                     type));
  }
  if (dims < 1 || dims > Shape::kMaxDims) {
    fail(name, 3, fmt::format("{} dimensions; 1 to {} can be read", dims, Shape::kMaxDims));
  }
  Header header{type, Shape(), 4 + std::size_t{dims} * 4};
  if (bytes.size() < header.bytes) {
    fail(name, bytes.size(), fmt::format("the file ends within the {} sizes", dims));
  }
  std::uint64_t need = width;
  bool overflow = false;
  for (std::size_t i = 0; i < dims; ++i) {
    const auto size = big_endian<std::uint32_t>(bytes.data() + 4 + i * 4);
    header.shape.push_back(size);
    if (size == 0) fail(name, 4 + i * 4, fmt::format("size {} is 0; no values to learn from", i));
    overflow = overflow || __builtin_mul_overflow(need, size, &need);
  }
  if (overflow || bytes.size() - header.bytes != need) {
    fail(name, bytes.size(),
         fmt::format("the file ends after {} bytes of values, but its sizes {} of {} bytes each "
                     "need {}; it is cut off or has bytes too many",
                     bytes.size() - header.bytes, header.shape.str(), width,
                     overflow ? std::string("more") : fmt::format("{}", need)));
  }
  return header;
}

template <typename From>
Tensor convert(std::string_view values, const Header& header, const std::string& name,
               IdxValues wanted) {
  const bool labels = wanted == IdxValues::kLabels;
  Tensor out = Tensor::empty(header.shape, labels ? DType::kI64 : DType::kF32);
  const std::size_t count = values.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    const From value = big_endian<From>(values.data() + i * sizeof(From));
    if constexpr (std::is_floating_point_v<From>) {
      const bool fits =
          labels ? value == std::floor(value) && std::abs(value) < From{1e9F}
                 : std::isfinite(value) && std::abs(value) <= std::numeric_limits<float>::max();
      if (!fits) {
        fail(name, header.bytes + i * sizeof(From),
             fmt::format("{}; {}", value,
                         labels ? "labels are whole numbers" : "a finite float32 is needed"));
      }
    }
    if (labels) {
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8 is one of the types
      out.data<std::int64_t>()[i] = static_cast<std::int64_t>(value);
    } else {
      out.data<float>()[i] = static_cast<float>(value);
    }
  }
  return out;
}

std::int64_t check_labels(const Tensor& labels, const Header& header, const std::string& name,
                          std::int64_t most_classes) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    const std::int64_t label = labels.data<std::int64_t>()[i];
    if (label < 0 || label >= most_classes) {
      fail(name, header.bytes + static_cast<std::size_t>(i) * width_of(header.type),
           fmt::format("the label of sample {} is {}; labels are whole numbers from 0 to {}", i,
                       label, most_classes - 1));
    }
    most = std::max(most, label);
  }
  return most + 1;
}

// `text` with its last "images" made "labels" and its last "idx3" made "idx1".
std::string labels_name(std::string text) {
  const auto swap_last = [&](std::string_view from, std::string_view to) {
    const std::size_t at = text.rfind(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return at != std::string::npos;
  };
  if (!swap_last("images", "labels")) return "";
  swap_last("idx3", "idx1");
  return text;
}

}  // namespace

Tensor parse_idx(std::string_view bytes, const std::string& name, IdxValues values) {
  const Header header = parse_header(bytes, name);
  const std::string_view rest = bytes.substr(header.bytes);
  switch (header.type) {
    case 0x08:
      return convert<std::uint8_t>(rest, header, name, values);
    case 0x09:
      return convert<std::int8_t>(rest, header, name, values);
    case 0x0B:
      return convert<std::int16_t>(rest, header, name, values);
    case 0x0C:
      return convert<std::int32_t>(rest, header, name, values);
    case 0x0D:
      return convert<float>(rest, header, name, values);
    default:
      return convert<double>(rest, header, name, values);
  }
}

TensorDataset read_idx_pair(const fs::path& samples, const fs::path& labels,
                            const IdxOptions& options) {
  const std::string samples_name = samples.string();
  const std::string labels_name = labels.string();
  const Tensor features =
      parse_idx(read_source(samples, options.most_bytes), samples_name, IdxValues::kFeatures);
  const std::string label_bytes = read_source(labels, options.most_bytes);
  const Header header = parse_header(label_bytes, labels_name);
  if (header.shape.dims() != 1) {
    fail(labels_name, 3,
         fmt::format("{} dimensions {}; labels have one (are the two files swapped?)",
                     header.shape.dims(), header.shape.str()));
  }
  const Tensor classes = parse_idx(label_bytes, labels_name, IdxValues::kLabels);
  if (features.size(0) != classes.size(0)) {
    fail(labels_name, 4,
         fmt::format("{} labels for the {} samples of {}; the numbers must be equal",
                     classes.size(0), features.size(0), samples_name));
  }
  TensorDataset data{
      .features = features.view(Shape{features.size(0), features.numel() / features.size(0)}),
      .labels = classes,
      .classes = check_labels(classes, header, labels_name, options.most_classes)};
  check_classes(data, labels_name);
  return data;
}

bool looks_like_idx(const fs::path& path) noexcept try {
  std::array<char, 4> start{};
  std::error_code problem;
  if (!fs::is_regular_file(path, problem)) return false;
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), 4);
  if (file.gcount() < 4) return false;
  if (start[0] == '\x1f' && start[1] == '\x8b') {
    const std::string all = read_source(path, IdxOptions{}.most_bytes);
    if (all.size() < 4) return false;
    std::ranges::copy(all.substr(0, 4), start.begin());
  }
  return start[0] == 0 && start[1] == 0;
} catch (const std::exception&) {
  return false;  // reading it for real will say why
}

fs::path labels_beside(const fs::path& samples) {
  const std::string name = labels_name(samples.filename().string());
  if (name.empty()) return {};
  const std::string plain = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  for (const std::string& tried : {name, plain, plain + ".gz"}) {
    std::error_code problem;
    if (fs::exists(samples.parent_path() / tried, problem)) return samples.parent_path() / tried;
  }
  return {};
}

}  // namespace plab::data
