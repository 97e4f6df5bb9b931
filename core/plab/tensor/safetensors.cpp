// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/tensor/safetensors_format.h"

namespace plab {

namespace {

using nlohmann::json;
using safetensors::kCodes;
using safetensors::kLengthBytes;
using safetensors::kMetadata;
using safetensors::shown;

// Where and what a tensor is, by the header.
struct Entry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  SafeTensors read() {
    const json header = parse_header();
    SafeTensors out;
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        out.metadata = metadata(value);
      } else {
        entries.push_back(entry(name, value));
      }
    }
    check_layout(entries);
    for (const Entry& e : entries) {
      Tensor tensor = Tensor::empty(e.shape, e.dtype);
      if (e.end > e.begin) {
        std::memcpy(tensor.raw_data(), data().data() + e.begin, e.end - e.begin);
      }
      if (e.dtype == DType::kBool) check_bools(e);
      out.tensors.emplace(e.name, std::move(tensor));
    }
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw CorruptError(fmt::format(
        "[tensor.safetensors] {}: {}; the file is damaged or no safetensors file", file_, problem));
  }
  [[noreturn]] void fail(std::string_view tensor, const std::string& problem) const {
    fail(fmt::format("tensor {}: {}", shown(tensor), problem));
  }

  [[nodiscard]] std::span<const std::byte> data() const {
    return bytes_.subspan(kLengthBytes + header_bytes_);
  }

  json parse_header() {
    if (bytes_.size() < kLengthBytes) {
      fail(fmt::format("{} bytes are less than the {} of the header's length", bytes_.size(),
                       kLengthBytes));
    }
    std::uint64_t length = 0;
    std::memcpy(&length, bytes_.data(), kLengthBytes);
    if (length > bytes_.size() - kLengthBytes || length > kMaxSafeTensorsHeader) {
      fail(fmt::format("a header of {} bytes in a file of {}; at most {} are read", length,
                       bytes_.size(), kMaxSafeTensorsHeader));
    }
    header_bytes_ = length;
    const auto* const first = reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes;
    check_depth_and_names(first);
    json header = json::parse(first, first + length, nullptr, false);
    if (header.is_discarded()) fail("the header is not JSON in UTF-8");
    if (!header.is_object()) fail("the header is not a JSON object");
    return header;
  }

  // json::parse keeps the last of equal keys and recurses into nesting; this pass, which builds
  // nothing, refuses both first.
  void check_depth_and_names(const char* first) const {
    Keys keys{*this, {}};
    json::sax_parse(first, first + header_bytes_, &keys);
  }

  struct Keys : json::json_sax_t {
    Keys(const Reader& owner, std::vector<std::set<std::string>> open)
        : reader(owner), levels(std::move(open)) {}
    bool null() override { return true; }
    bool boolean(bool /*value*/) override { return true; }
    bool number_integer(number_integer_t /*value*/) override { return true; }
    bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
    bool string(string_t& /*value*/) override { return true; }
    bool binary(binary_t& /*value*/) override { return true; }
    bool start_object(std::size_t /*elements*/) override { return open(); }
    bool key(string_t& name) override {
      if (!levels.back().insert(name).second) reader.fail(name, "the header names it twice");
      return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*elements*/) override { return open(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t at, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*problem*/) override {
      reader.fail(fmt::format("the header is not JSON in UTF-8 at byte {}", at));
    }
    bool open() {
      if (levels.size() == kMaxDepth) reader.fail("the header is nested too deep");
      levels.emplace_back();
      return true;
    }
    bool close() {
      levels.pop_back();
      return true;
    }
    static constexpr std::size_t kMaxDepth = 4;
    const Reader& reader;
    std::vector<std::set<std::string>> levels;
  };

  [[nodiscard]] std::map<std::string, std::string> metadata(const json& value) const {
    if (!value.is_object()) fail("__metadata__ is not an object");
    std::map<std::string, std::string> out;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(fmt::format("__metadata__ {} is not text", shown(key)));
      out.emplace(key, text.get<std::string>());
    }
    return out;
  }

  [[nodiscard]] Entry entry(const std::string& name, const json& value) const {
    if (!value.is_object()) fail(name, "it is not described by an object");
    for (const auto& [key, unused] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        fail(name, fmt::format("unknown field {}", shown(key)));
      }
    }
    Entry out;
    out.name = name;
    out.dtype = dtype(name, field(name, value, "dtype"));
    out.shape = shape(name, field(name, value, "shape"));
    const json& offsets = field(name, value, "data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      fail(name, "data_offsets are not two whole numbers");
    }
    out.begin = offsets[0].get<std::size_t>();
    out.end = offsets[1].get<std::size_t>();
    check_extent(out);
    return out;
  }

  const json& field(const std::string& name, const json& value, const char* key) const {
    const auto it = value.find(key);
    if (it == value.end()) fail(name, fmt::format("{} is missing", key));
    return *it;
  }

  [[nodiscard]] DType dtype(const std::string& name, const json& value) const {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    const auto* const it = std::ranges::find(kCodes, text, &safetensors::Code::text);
    if (it == kCodes.end()) {
      fail(name, fmt::format("dtype {} is unknown; known are F32 F64 I32 I64 U8 BOOL F16 BF16",
                             shown(text)));
    }
    return it->dtype;
  }

  [[nodiscard]] Shape shape(const std::string& name, const json& value) const {
    if (!value.is_array()) fail(name, "shape is not a list");
    if (value.size() > Shape::kMaxDims) {
      fail(name, fmt::format("{} dimensions; at most {} are held", value.size(), Shape::kMaxDims));
    }
    Shape out;
    for (const json& size : value) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX) {
        fail(name, "a size is not a whole number from 0 to 2^63 - 1");
      }
      out.push_back(size.get<std::int64_t>());
    }
    return out;
  }

  void check_extent(const Entry& e) const {
    const std::size_t held = data().size();
    if (e.begin > e.end || e.end > held) {
      fail(e.name, fmt::format("bytes {} to {} are not in the {} that the file holds", e.begin,
                               e.end, held));
    }
    // the shape is compared by division, which cannot overflow
    std::size_t left = (e.end - e.begin) / item_size(e.dtype);
    bool fits = (e.end - e.begin) % item_size(e.dtype) == 0;
    const bool none = std::ranges::find(e.shape, 0) != e.shape.end();
    for (const std::int64_t size : e.shape) {
      if (none || !fits) break;
      fits = left % static_cast<std::size_t>(size) == 0;
      left /= static_cast<std::size_t>(size);
    }
    fits = fits && (none ? e.begin == e.end : left == 1);
    if (!fits) {
      fail(e.name, fmt::format("{} bytes are not what {} {} takes", e.end - e.begin,
                               name_of(e.dtype), e.shape.str()));
    }
  }

  // Each byte belongs to one tensor, so nobody can hide data in a file or make one twice as big in
  // memory as on disk.
  void check_layout(std::vector<Entry>& entries) const {
    std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
    std::size_t at = 0;
    for (const Entry& e : entries) {
      if (e.begin != at) {
        fail(e.name, fmt::format("it begins at byte {}, but {} at byte {}", e.begin,
                                 e.begin < at ? "another ends" : "the one before ends", at));
      }
      at = e.end;
    }
    if (at != data().size()) {
      fail(fmt::format("{} bytes follow the last tensor", data().size() - at));
    }
  }

  void check_bools(const Entry& e) const {
    for (std::size_t i = e.begin; i < e.end; ++i) {
      if (std::to_integer<unsigned>(data()[i]) > 1) {
        fail(e.name, fmt::format("element {} of a BOOL is not 0 or 1", i - e.begin));
      }
    }
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  std::size_t header_bytes_ = 0;
};

}  // namespace

SafeTensors parse_safetensors(std::span<const std::byte> bytes, std::string_view name) {
  return Reader(bytes, name).read();
}

SafeTensors load_safetensors(const std::filesystem::path& file) {
  const std::string bytes = os::read_file(file);
  return parse_safetensors(std::as_bytes(std::span(bytes)), file.string());
}

}  // namespace plab
