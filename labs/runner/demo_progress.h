#pragma once
// SPDX-License-Identifier: Apache-2.0
// The demo on the screen while it trains: a bar per process on a terminal, a plain line a second
// otherwise.

#include <cstdint>
#include <string>
#include <vector>

#include "demo_options.h"
#include "plab/parallel/hogwild.h"

namespace plab::lab {

enum class Screen { kNone, kLines, kBars };

/// The bars of one training.
class Progress {
 public:
  /// @param title stands over the bars or before each line
  Progress(Screen screen, std::string title);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Draws the states; call it as often as you like. Draws at most 20 times a second, and a plain
  /// line at most once a second.
  void show(const std::vector<parallel::WorkerProgress>& states);
  /// Draws the last states once more and leaves them standing.
  void finish();

 private:
  void draw();

  Screen screen_;
  std::string title_;
  std::vector<parallel::WorkerProgress> states_;
  std::int64_t began_ns_;
  std::int64_t drawn_ns_ = 0;
  std::size_t lines_ = 0;  // that the next drawing replaces
  bool finished_ = false;
};

/// The lines of one frame: `title`, then a bar per rank (at most 16, the rest counted).
/// @param unicode whether blocks may be used, or only ASCII
enum class Glyphs { kAscii, kBlocks };
[[nodiscard]] std::vector<std::string> frame_of(const std::string& title,
                                                const std::vector<parallel::WorkerProgress>& states,
                                                double seconds, Glyphs glyphs);

}  // namespace plab::lab
