#pragma once
// SPDX-License-Identifier: Apache-2.0
// A line chart as one SVG file: readable on a light and on a dark page, without fonts or scripts of
// its own.

#include <string>
#include <utility>
#include <vector>

namespace plab::lab {

/// One line. Points that are not finite are left out.
struct Series {
  std::string name{};
  std::vector<std::pair<double, double>> points{};
  enum class Stroke { kSolid, kDashed } stroke = Stroke::kSolid;
};

enum class Scale { kLinear, kLog };

struct Chart {
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  std::vector<Series> series{};
  Scale y_scale = Scale::kLinear;  ///< kLog leaves out what is not positive
};

/// The chart as valid XML; text of any kind is escaped. Without a point it says so in its middle.
/// The legend names at most 12 lines and counts the rest.
[[nodiscard]] std::string to_svg(const Chart& chart);

/// Round numbers that cut [low, high] into about `wanted` parts: 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<double> nice_ticks(double low, double high, int wanted);

}  // namespace plab::lab
