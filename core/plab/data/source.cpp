// SPDX-License-Identifier: Apache-2.0
#include "plab/data/source.h"

#include <zlib.h>

#include <algorithm>
#include <system_error>

#include "plab/base/error.h"
#include "plab/os/file.h"

namespace plab::data {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kFirstChunk = 64U << 10U;

// Ends the inflater however the function is left.
class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, kGzipOnly + MAX_WBITS) != Z_OK) {
      throw ResourceError("[data.source] no memory to unpack gzip data");
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& get() noexcept { return stream_; }

 private:
  z_stream stream_{};
};

[[noreturn]] void too_long(const std::string& name, std::uint64_t most_bytes) {
  throw DataError(
      name, 0, 0,
      fmt::format("it is longer than {} bytes (unpacked), which is the limit; is it the "
                  "right file?",
                  most_bytes));
}

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

}  // namespace

std::string unpack_gzip(std::string_view packed, const std::string& name,
                        std::uint64_t most_bytes) {
  const auto damaged = [&](std::size_t at, std::string_view what) {
    throw DataError(name, 0, 0,
                    fmt::format("its gzip data is damaged near byte {} of {}: {}; copy or download "
                                "it again",
                                at, packed.size(), what));
  };
  Inflater inflater;
  z_stream& stream = inflater.get();
  std::string out;
  std::size_t used = 0;  // bytes of `packed` that are in zlib's hands or done
  int state = Z_OK;
  std::string chunk(kFirstChunk, '\0');
  for (;;) {
    if (stream.avail_in == 0 && used < packed.size()) {
      const std::size_t part = std::min<std::size_t>(packed.size() - used, 1U << 30U);
      // zlib's old interface takes no const; it only reads
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + used));
      stream.avail_in = static_cast<uInt>(part);
      used += part;
    }
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    state = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = chunk.size() - stream.avail_out;
    if (made > most_bytes - out.size()) too_long(name, most_bytes);
    out.append(chunk, 0, made);
    const std::size_t at = used - stream.avail_in;
    if (state == Z_STREAM_END) {
      if (at == packed.size()) return out;
      if (!is_gzip(packed.substr(at))) damaged(at, "bytes follow after its end");
      inflateReset(&stream);  // another member: its bytes join on
    } else if (state == Z_BUF_ERROR || (state == Z_OK && made == 0 && at == packed.size())) {
      damaged(at, "it is cut off");
    } else if (state != Z_OK) {
      damaged(at, stream.msg != nullptr ? stream.msg : "it is no gzip data");
    }
  }
}

std::string read_source(const fs::path& path, std::uint64_t most_bytes) {
  const std::string name = path.string();
  std::error_code problem;
  const auto status = fs::status(path, problem);
  if (status.type() == fs::file_type::not_found) {
    throw DataError(name, 0, 0, "there is no such file");
  }
  if (fs::is_directory(status)) {
    throw DataError(name, 0, 0, "it is a folder; give a CSV or IDX file in it");
  }
  if (problem) throw DataError(name, 0, 0, "cannot look at it: " + problem.message());
  if (!fs::is_regular_file(status)) {
    throw DataError(name, 0, 0, "it is a pipe, a device or a socket; give a regular file");
  }
  try {
    std::string bytes = os::read_file(path, most_bytes);
    return is_gzip(bytes) ? unpack_gzip(bytes, name, most_bytes) : bytes;
  } catch (const ResourceError&) {
    too_long(name, most_bytes);
  } catch (const SystemError& failed) {
    throw DataError(name, 0, 0, "cannot read it: " + errno_text(failed.code()));
  }
}

}  // namespace plab::data
