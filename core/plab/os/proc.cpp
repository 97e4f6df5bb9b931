// SPDX-License-Identifier: Apache-2.0
#include "plab/os/proc.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "plab/base/log.h"
#include "plab/os/file.h"
#include "plab/os/syscall.h"

namespace plab::os {

namespace {

std::optional<std::uint64_t> to_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || stop == text.data()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  try {
    return to_number(read_file(path, 4096));
  } catch (const Error&) {
    return std::nullopt;  // no such file: no such limit
  }
}

// "Name:   123 kB" in bytes.
std::uint64_t field(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return 0;
  return to_number(text.substr(at + name.size())).value_or(0) * 1024;
}

// The folders of this process's control group and all above it (v2), or of the v1 memory group.
std::vector<std::filesystem::path> group_folders() {
  std::vector<std::filesystem::path> folders;
  std::string text;
  try {
    text = read_file("/proc/self/cgroup", 1U << 16U);
  } catch (const Error&) {
    return folders;
  }
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::filesystem::path root;
    if (line.starts_with("0::")) root = "/sys/fs/cgroup";
    if (line.find(":memory:") != std::string_view::npos) root = "/sys/fs/cgroup/memory";
    if (root.empty()) continue;
    auto folder = std::filesystem::path(line.substr(line.rfind(':') + 1)).relative_path();
    for (;; folder = folder.parent_path()) {
      folders.push_back(root / folder);
      if (folder.empty()) break;
    }
  }
  return folders;
}

void apply_group(Memory& result, const std::filesystem::path& folder) {
  auto limit = read_number((folder / "memory.max").native());
  auto used = read_number((folder / "memory.current").native());
  if (!limit) {
    limit = read_number((folder / "memory.limit_in_bytes").native());
    used = read_number((folder / "memory.usage_in_bytes").native());
  }
  if (!limit || !used || *limit > (UINT64_MAX >> 2U)) return;  // v1 writes "no limit" as a huge one
  const std::uint64_t left = *limit > *used ? *limit - *used : 0;
  if (!result.group_left || left < *result.group_left) {
    result.group_left = left;
    result.group_limit = limit;
  }
}

}  // namespace

std::vector<OpenDescriptor> open_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
  if (!folder) fail("[os.proc] opendir(/proc/self/fd)");
  std::vector<OpenDescriptor> list;
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto number = to_number(static_cast<const char*>(entry->d_name));
    if (!number || static_cast<int>(*number) == ::dirfd(folder.get())) continue;
    char target[PATH_MAX];
    const ssize_t n = ::readlinkat(::dirfd(folder.get()), entry->d_name, target, sizeof(target));
    list.push_back({static_cast<int>(*number),
                    n < 0 ? std::string("?") : std::string(target, static_cast<std::size_t>(n))});
  }
  std::ranges::sort(list, {}, &OpenDescriptor::fd);
  return list;
}

DescriptorLimit descriptor_limit() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {limit.rlim_cur, limit.rlim_max};
}

int usable_cores() noexcept {
  // A machine with over 1,024 cores needs a larger set than cpu_set_t: grow until the kernel agrees
  for (int cores = 1024; cores <= 1 << 18; cores *= 2) {
    const std::size_t size = CPU_ALLOC_SIZE(cores);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cores),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    if (!set) break;
    CPU_ZERO_S(size, set.get());
    if (::sched_getaffinity(0, size, set.get()) == 0) {
      return std::max(1, CPU_COUNT_S(size, set.get()));
    }
    if (errno != EINVAL) break;
  }
  return 1;
}

int online_cores() noexcept {
  return static_cast<int>(std::max<long>(1, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::uint64_t Memory::usable() const noexcept {
  return group_left ? std::min(available, *group_left) : available;
}

Memory memory() {
  const std::string text = read_file("/proc/meminfo");
  Memory result;
  result.total = field(text, "MemTotal:");
  result.available = field(text, "MemAvailable:");
  for (const auto& folder : group_folders()) apply_group(result, folder);
  return result;
}

std::optional<FolderSpace> dev_shm_space() noexcept {
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) return std::nullopt;
  return FolderSpace{info.f_blocks * info.f_frsize, info.f_bavail * info.f_frsize};
}

std::vector<int> child_pids() {
  std::vector<int> pids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string text;
    try {
      text = read_file(task.path() / "children");
    } catch (const Error&) {
      continue;  // the thread ended meanwhile
    }
    std::string_view rest = text;
    while (const auto pid = to_number(rest)) {
      pids.push_back(static_cast<int>(*pid));
      const auto space = rest.find(' ');
      rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
    }
  }
  return pids;
}

}  // namespace plab::os
