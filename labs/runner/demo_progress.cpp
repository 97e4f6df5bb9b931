// SPDX-License-Identifier: Apache-2.0
#include "demo_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "plab/base/deadline.h"

namespace plab::lab {

namespace {

constexpr std::int64_t kFrameNs = 50'000'000;
constexpr std::int64_t kLineNs = 1'000'000'000;
constexpr std::size_t kMostBars = 16;
constexpr std::int64_t kBarWidth = 24;

struct Sum {
  std::int64_t steps = 0;
  std::int64_t wanted = 0;
};

Sum sum_of(const std::vector<parallel::WorkerProgress>& states) {
  Sum sum;
  for (const parallel::WorkerProgress& state : states) {
    sum.steps += state.steps;
    sum.wanted += state.steps_wanted;
  }
  return sum;
}

std::int64_t percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 100 : std::clamp<std::int64_t>(part * 100 / whole, 0, 100);
}

std::string bar(std::int64_t done, Glyphs glyphs) {
  const std::int64_t full = done * kBarWidth / 100;
  std::string text;
  for (std::int64_t i = 0; i < kBarWidth; ++i) {
    if (glyphs == Glyphs::kBlocks) {
      text += i < full ? "\u2588" : "\u2591";
    } else {
      text += i < full ? '#' : '.';
    }
  }
  return text;
}

Glyphs glyphs_of_terminal() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    const bool utf8 =
        text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos;
    return utf8 ? Glyphs::kBlocks : Glyphs::kAscii;
  }
  return Glyphs::kAscii;
}

}  // namespace

std::vector<std::string> frame_of(const std::string& title,
                                  const std::vector<parallel::WorkerProgress>& states,
                                  double seconds, Glyphs glyphs) {
  const Sum sum = sum_of(states);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}  {:.1f} s  {:.0f} steps/s", title, seconds,
                              seconds > 0 ? static_cast<double>(sum.steps) / seconds : 0.0));
  const std::size_t shown = std::min(states.size(), kMostBars);
  for (std::size_t rank = 0; rank < shown; ++rank) {
    const parallel::WorkerProgress& state = states[rank];
    const std::int64_t done = percent(state.steps, state.steps_wanted);
    lines.push_back(fmt::format("  rank {:<3} {} {:3} %  {:>9} steps  loss {:.4f}", rank,
                                bar(done, glyphs), done, state.steps, state.loss));
  }
  if (shown < states.size()) {
    lines.push_back(fmt::format("  and {} more processes", states.size() - shown));
  }
  return lines;
}

Progress::Progress(Screen screen, std::string title)
    : screen_(screen), title_(std::move(title)), began_ns_(monotonic_ns()) {}

Progress::~Progress() { finish(); }

void Progress::show(const std::vector<parallel::WorkerProgress>& states) {
  states_ = states;
  const std::int64_t pause = screen_ == Screen::kBars ? kFrameNs : kLineNs;
  if (drawn_ns_ == 0 && screen_ == Screen::kLines) drawn_ns_ = began_ns_;
  if (monotonic_ns() - drawn_ns_ >= pause) draw();
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (!states_.empty()) draw();
}

void Progress::draw() {
  drawn_ns_ = monotonic_ns();
  if (screen_ == Screen::kNone) return;
  const double seconds = static_cast<double>(drawn_ns_ - began_ns_) / 1e9;
  if (screen_ == Screen::kLines) {
    const Sum sum = sum_of(states_);
    fmt::print("{}: {} % ({} of {} steps, {:.1f} s, loss {:.4f})\n", title_,
               percent(sum.steps, sum.wanted), sum.steps, sum.wanted, seconds, states_[0].loss);
  } else {
    static const Glyphs glyphs = glyphs_of_terminal();
    // One write a frame. Lines are not wrapped meanwhile, so that a narrow terminal stays in order.
    std::string text = "\x1b[?7l";
    if (lines_ != 0) text += fmt::format("\x1b[{}A", lines_);
    const auto lines = frame_of(title_, states_, seconds, glyphs);
    for (const std::string& line : lines) text += "\r\x1b[K" + line + "\n";
    lines_ = lines.size();
    fmt::print("{}\x1b[?7h", text);
  }
  std::fflush(stdout);
}

}  // namespace plab::lab
