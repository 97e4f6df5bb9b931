// SPDX-License-Identifier: Apache-2.0
#include "plab/os/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "plab/base/deadline.h"
#include "plab/os/memfd.h"
#include "plab/os/pipe.h"
#include "plab/os/random.h"
#include "plab/os/syscall.h"

namespace plab::os {

std::string read_file(const std::filesystem::path& path, std::uint64_t limit,
                      std::source_location where) {
  const UniqueFd fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!fd) fail(fmt::format("[os.file] open({})", path.native()), where);
  std::string text;
  text.resize(std::min<std::uint64_t>(file_use(fd.get(), where).size + 1, 1U << 26U));
  std::size_t done = 0;
  for (;;) {
    if (done == text.size()) text.resize(std::max<std::size_t>(2 * done, 4096));
    const ssize_t n =
        retry([&] { return ::read(fd.get(), text.data() + done, text.size() - done); });
    if (n < 0) fail(fmt::format("[os.file] read({})", path.native()), where);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
    if (done > limit) {
      throw ResourceError(fmt::format("[os.file] {} is longer than the {} bytes that are allowed",
                                      path.native(), limit),
                          where);
    }
  }
  text.resize(done);
  return text;
}

std::vector<std::string> list_folder(const std::filesystem::path& path, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code problem;
  for (std::filesystem::directory_iterator it(path, problem), end; !problem && it != end;
       it.increment(problem)) {
    std::string name = it->path().filename().native();
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  return names;
}

namespace {

// Removes the half-made file when writing fails.
struct Remover {
  const std::filesystem::path& path;
  bool armed = true;
  ~Remover() {
    if (armed) ::unlink(path.c_str());
  }
};

}  // namespace

void write_file(const std::filesystem::path& path, std::string_view bytes,
                std::source_location where) {
  std::filesystem::path fresh = path;
  fresh += fmt::format(".{:016x}.new", random_u64());
  UniqueFd fd(
      retry([&] { return ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); }));
  if (!fd) fail(fmt::format("[os.file] create {} for {}", fresh.native(), path.native()), where);
  Remover remover{fresh};
  write_full(fd.get(), std::as_bytes(std::span(bytes)), Deadline::never(), where);
  // EINVAL: a file system that cannot sync (a pipe, some FUSE); the rename is atomic all the same
  if (retry([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL) {
    fail(fmt::format("[os.file] fsync({})", fresh.native()), where);
  }
  fd.reset();
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    fail(fmt::format("[os.file] rename({}, {})", fresh.native(), path.native()), where);
  }
  remover.armed = false;
}

}  // namespace plab::os
