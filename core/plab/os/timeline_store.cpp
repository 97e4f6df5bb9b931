// SPDX-License-Identifier: Apache-2.0
#include "plab/os/timeline_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "plab/base/early.h"
#include "plab/base/env.h"
#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/base/timeline.h"
#include "plab/os/file.h"
#include "plab/os/syscall.h"
#include "plab/os/unique_fd.h"

namespace plab::os {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kEnding = ".ring";
constexpr std::string_view kRuns = "_a_b_c_d_e_f_g_h_i_j_k_l_m_n_o_p_q_r_s_t_u_v_w_x_y_z";

// Set before the timeline is turned on, then only read. Fixed arrays: a child of fork opens its
// ring without the heap, which another thread of the parent may have held.
std::array<char, 3072> g_folder{};
std::uint64_t g_capacity = kTimelineEvents;

// Field 22 of /proc/PID/stat, counted after the name, which may hold spaces and brackets.
std::optional<std::uint64_t> start_time_of(long pid) noexcept {
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", pid);
  const UniqueFd file(
      static_cast<int>(retry([&] { return open(path.data(), O_RDONLY | O_CLOEXEC); })));
  if (!file) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t size = retry([&] { return read(file.get(), text.data(), text.size()); });
  if (size <= 0) return std::nullopt;
  std::string_view rest(text.data(), static_cast<std::size_t>(size));
  const std::size_t name_end = rest.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= rest.size()) return std::nullopt;
  rest.remove_prefix(name_end + 2);
  if (rest.front() == 'Z' || rest.front() == 'X') return std::nullopt;  // dead, not yet waited for
  for (int field = 3; field < 22; ++field) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  std::uint64_t ticks = 0;
  const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  if (problem != std::errc{}) return std::nullopt;
  return ticks;
}

timeline::RingHeader* no_ring(const char* what, const char* path, int code) noexcept {
  log::warning("[os.timeline] {} {}: {}; this process keeps no timeline", what, path,
               errno_text(code));
  return nullptr;
}

timeline::RingHeader* open_ring() noexcept try {
  const timeline::ProcessInfo self{.pid = static_cast<std::uint32_t>(getpid()),
                                   .parent_pid = static_cast<std::uint32_t>(getppid()),
                                   .start_time = start_time_of(getpid()).value_or(0),
                                   .name = program_invocation_short_name};
  std::array<char, 3200> path{};
  UniqueFd file;
  // The name is taken when the process kept a timeline before: it stopped, or it was another
  // program before exec.
  for (int run = 0; !file && run < 27 && (run == 0 || errno == EEXIST); ++run) {
    path = {};
    fmt::format_to_n(
        path.data(), path.size() - 1, "{}/{}_{}{}{}", g_folder.data(), self.pid, self.start_time,
        run == 0 ? std::string_view() : kRuns.substr(static_cast<std::size_t>(run) * 2 - 2, 2),
        kEnding);
    file = UniqueFd(static_cast<int>(retry([&] {
      return open(path.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    })));
  }
  if (!file) return no_ring("cannot make", path.data(), errno);
  const std::size_t size = timeline::ring_bytes(g_capacity);
  const int full = posix_fallocate(file.get(), 0, static_cast<off_t>(size));
  void* const memory = full != 0
                           ? MAP_FAILED
                           : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    const int code = full != 0 ? full : errno;
    unlink(path.data());
    return no_ring("no room for", path.data(), code);
  }
  return timeline::make_ring({static_cast<std::byte*>(memory), size}, g_capacity, self);
} catch (const std::exception& problem) {
  log::warning("[os.timeline] {}; this process keeps no timeline", problem.what());
  return nullptr;
}

void unmap(timeline::RingHeader* ring) noexcept {
  if (ring != nullptr) munmap(ring, timeline::ring_bytes(ring->capacity));
}

std::uint32_t thread_id() noexcept { return static_cast<std::uint32_t>(gettid()); }

const Early g_early_timeline_store([] {
  pthread_atfork(nullptr, nullptr, [] { unmap(timeline::forget_after_fork()); });
});

void install_handlers() {
  static constinit std::atomic<bool> once{false};
  if (once.exchange(true)) return;
  on_exit([](int code, void*) { timeline::record_exit(code); }, nullptr);
}

bool is_ring(const fs::directory_entry& entry) { return entry.path().extension() == kEnding; }

void read_one(timeline::Timeline& all, const fs::path& path) {
  try {
    const std::uint64_t limit = timeline::ring_bytes(timeline::kMostRecords);
    // Twice: a record that its process writes meanwhile differs (timeline_reader.h).
    const std::string first = read_file(path, limit);
    const std::string again = read_file(path, limit);
    auto track = timeline::read_ring(std::as_bytes(std::span(first)),
                                     std::as_bytes(std::span(again)), path.string());
    const auto alive = start_time_of(static_cast<long>(track.pid));
    if (track.end == timeline::End::kKilled && alive && *alive == track.start_time) {
      track.end = timeline::End::kRunning;
    }
    all.processes.push_back(std::move(track));
  } catch (const Error& problem) {
    all.problems.emplace_back(problem.what());
  }
}

// A process that began a second ring (exec, or a second start_timeline) did not die in its first.
void mark_replaced(timeline::Timeline& all) {
  for (auto track = all.processes.begin(); track != all.processes.end(); ++track) {
    const bool replaced = std::any_of(track + 1, all.processes.end(), [&](const auto& later) {
      return later.pid == track->pid && later.start_time == track->start_time;
    });
    if (replaced) track->end = timeline::End::kExited;
  }
}

}  // namespace

void start_timeline(const fs::path& folder, std::uint64_t events) {
  std::error_code problem;
  const fs::path absolute = fs::absolute(folder, problem);
  if (!problem) fs::create_directories(absolute, problem);
  if (problem) fail_code("make the timeline's folder " + folder.string(), problem.value());
  if (access(absolute.c_str(), W_OK | X_OK) != 0) fail("write into " + absolute.string());
  const std::string text = absolute.string();
  if (text.size() >= g_folder.size()) fail_code("timeline in " + text, ENAMETOOLONG);
  stop_timeline();
  std::ranges::copy(text, g_folder.begin());
  g_folder.at(text.size()) = '\0';
  g_capacity = std::bit_ceil(std::clamp<std::uint64_t>(events, 2, timeline::kMostRecords));
  setenv("PLAB_TIMELINE", text.c_str(), 1);
  setenv("PLAB_TIMELINE_EVENTS", std::to_string(g_capacity).c_str(), 1);
  install_handlers();
  timeline::turn_on({.open = open_ring, .thread_id = thread_id});
  timeline::name_process(program_invocation_short_name);  // opens this process's ring
}

bool start_timeline_from_environment() {
  const auto folder = env::get("PLAB_TIMELINE");
  if (!folder) return false;
  try {
    const auto events = env::get_int("PLAB_TIMELINE_EVENTS", 2, timeline::kMostRecords);
    start_timeline(*folder, events ? static_cast<std::uint64_t>(*events) : kTimelineEvents);
    return true;
  } catch (const Error& problem) {
    log::warning("{}; this program keeps no timeline", problem.what());
    return false;
  }
}

void stop_timeline() noexcept {
  const bool was_on = timeline::enabled();
  unmap(timeline::turn_off());
  if (was_on) unsetenv("PLAB_TIMELINE");
}

std::uint64_t count_timeline_events(const fs::path& folder) {
  std::error_code problem;
  std::uint64_t sum = 0;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    if (!is_ring(*at)) continue;
    std::ifstream ring(at->path(), std::ios::binary);
    std::uint64_t next = 0;  // its writers go on meanwhile: an aligned word is read whole
    ring.seekg(offsetof(timeline::RingHeader, next));
    if (ring.read(reinterpret_cast<char*>(&next), sizeof(next))) sum += next;
  }
  return sum;
}

timeline::Timeline read_timeline(const fs::path& folder) {
  std::error_code problem;
  fs::directory_iterator entries(folder, problem);
  if (problem) fail_code("read the timeline's folder " + folder.string(), problem.value());
  timeline::Timeline all;
  for (const fs::directory_iterator end; entries != end; entries.increment(problem)) {
    if (is_ring(*entries)) read_one(all, entries->path());
    if (problem) break;
  }
  if (problem) fail_code("read the timeline's folder " + folder.string(), problem.value());
  timeline::sort_processes(all);
  mark_replaced(all);
  return all;
}

void remove_timeline(const fs::path& folder) noexcept try {
  std::error_code problem;
  std::vector<fs::path> rings;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    if (is_ring(*at)) rings.push_back(at->path());
  }
  for (const fs::path& ring : rings) fs::remove(ring, problem);
  if (!rings.empty()) fs::remove(folder, problem);  // fails when something else is in it
} catch (const std::exception& problem) {
  log::warning("[os.timeline] removing {}: {}", folder.string(), problem.what());
}

}  // namespace plab::os
