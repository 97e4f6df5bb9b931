// SPDX-License-Identifier: Apache-2.0
#include "saves.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "plab/os/signals.h"

namespace plab::lab {

namespace {

constexpr int kLookEveryMs = 250;

}  // namespace

Saves::Saves(std::filesystem::path file, Notice notice) : file_(std::move(file)), known_(time()) {
  if (notice == Notice::kPoll) return;
  os::UniqueFd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!events) return;
  const auto folder = file_.parent_path();
  if (::inotify_add_watch(events.get(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) return;
  events_ = std::move(events);
}

std::optional<Saves::Time> Saves::time() const {
  std::error_code problem;
  const Time time = std::filesystem::last_write_time(file_, problem);
  if (problem) return std::nullopt;
  return time;
}

bool Saves::told() const noexcept {
  // As inotify(7) lays it out: a header, and the name behind it.
  alignas(inotify_event) std::array<char, 16384> bytes{};
  bool own = false;
  for (;;) {
    const auto count = ::read(events_.get(), bytes.data(), bytes.size());
    if (count <= 0) return own;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof event);
      const char* const name = bytes.data() + at + sizeof event;
      const bool lost_some = (event.mask & IN_Q_OVERFLOW) != 0;
      if (lost_some || (event.len > 0 && file_.filename() == name)) own = true;
      at += sizeof event + event.len;
    }
  }
}

bool Saves::saved() {
  if (events_) return told();
  const auto now = time();
  if (!now || now == known_) return false;
  known_ = now;
  return true;
}

Woken Saves::wait(int keys) {
  const os::InterruptFlag interrupt;
  for (;;) {
    if (saved()) return Woken::kSaved;
    std::array<pollfd, 3> all{{{.fd = interrupt.fd(), .events = POLLIN, .revents = 0},
                               {.fd = keys, .events = POLLIN, .revents = 0},
                               {.fd = events_.get(), .events = POLLIN, .revents = 0}}};
    (void)::poll(all.data(), all.size(), events_ ? -1 : kLookEveryMs);
    if (interrupt.raised()) return Woken::kInterrupted;
    if (all[1].revents != 0) {
      std::array<char, 256> line{};
      if (::read(keys, line.data(), line.size()) > 0) return Woken::kEnter;
      keys = -1;  // the terminal is gone
    }
  }
}

}  // namespace plab::lab
