// SPDX-License-Identifier: Apache-2.0
#include "chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "plab/base/json_text.h"

namespace plab::lab {

namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 420;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 48;
constexpr double kBottom = 56;
constexpr std::size_t kMostNames = 12;
// Each is readable on white and on near-black.
constexpr std::array kColours = {"#d1495b", "#3f7fd6", "#2e9e5b", "#e07b18",
                                 "#8a63d2", "#1499a8", "#b0688f", "#8a8a2a"};

using Out = std::back_insert_iterator<std::string>;

struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double from = 0;  // in pixels
  double to = 0;
  Scale scale = Scale::kLinear;

  [[nodiscard]] bool empty() const { return !(low <= high); }
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] double at(double value) const {
    const auto on_scale = [&](double v) { return scale == Scale::kLog ? std::log10(v) : v; };
    const double span = on_scale(high) - on_scale(low);
    return from + (to - from) * (span > 0 ? (on_scale(value) - on_scale(low)) / span : 0.5);
  }
};

bool drawn(const Chart& chart, const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second) &&
         (chart.y_scale == Scale::kLinear || point.second > 0);
}

// 1, 2, 5 times the powers of ten inside; the powers alone when there are many.
std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  const bool many = std::log10(high / low) > 3;
  for (int power = static_cast<int>(std::floor(std::log10(low))) - 1; power < 310; ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = digit * std::pow(10.0, power);
      if (tick > high * 1.0001) return ticks;
      if (tick >= low * 0.9999 && (!many || digit == 1.0)) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string number(double value) { return fmt::format("{:.6g}", value == 0 ? 0.0 : value); }

void add_head(std::string& out, const Chart& chart) {
  fmt::format_to(
      Out(out),
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">
<style>
text {{ font: 12px system-ui, sans-serif; fill: #6a737d; }}
.title {{ font-size: 15px; font-weight: 600; }}
.title, .name {{ fill: #24292f; }}
.grid {{ stroke: #d9dee3; }}
.back {{ fill: #ffffff; }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #97a1ab; }} .title, .name {{ fill: #e4e8ec; }} .grid {{ stroke: #363d45; }} .back {{ fill: #14181c; }} }}
.line {{ fill: none; stroke-width: 1.8; stroke-linejoin: round; }}
</style>
<rect class="back" width="{0}" height="{1}"/>
<text class="title" x="{3}" y="26">{2}</text>
)svg",
      kWidth, kHeight, xml_text(chart.title), kLeft);
}

void add_axes(std::string& out, const Chart& chart, const Axis& x, const Axis& y) {
  for (const double tick : nice_ticks(x.low, x.high, 8)) {
    fmt::format_to(Out(out),
                   "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>"
                   "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
                   x.at(tick), y.to, y.from, y.from + 18, number(tick));
  }
  auto ticks = chart.y_scale == Scale::kLog ? log_ticks(y.low, y.high) : std::vector<double>();
  if (ticks.size() < 2) ticks = nice_ticks(y.low, y.high, 6);
  for (const double tick : ticks) {
    fmt::format_to(Out(out),
                   "<line class=\"grid\" x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\"/>"
                   "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
                   x.from, y.at(tick), x.to, x.from - 8, y.at(tick) + 4, number(tick));
  }
  fmt::format_to(Out(out),
                 "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
                 "<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}"
                 "</text>\n",
                 (x.from + x.to) / 2, kHeight - 14, xml_text(chart.x_label), (y.from + y.to) / 2,
                 xml_text(chart.y_label));
}

std::string style_of(const Series& series, std::size_t index) {
  const bool dashed = series.stroke == Series::Stroke::kDashed;
  return fmt::format("stroke=\"{}\"{}", kColours.at(index % kColours.size()),
                     dashed ? " stroke-dasharray=\"6 4\"" : "");
}

void add_lines(std::string& out, const Chart& chart, const Axis& x, const Axis& y) {
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    std::string points;
    std::size_t count = 0;
    std::pair<double, double> last;
    for (const auto& point : chart.series[i].points) {
      if (!drawn(chart, point)) continue;
      fmt::format_to(Out(points), "{}{:.1f},{:.1f}", count == 0 ? "" : " ", x.at(point.first),
                     y.at(point.second));
      last = point;
      ++count;
    }
    const std::string style = style_of(chart.series[i], i);
    if (count == 1) {  // a line of one point would not show
      fmt::format_to(Out(out), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"none\" {}/>\n",
                     x.at(last.first), y.at(last.second), style);
    } else if (count > 1) {
      fmt::format_to(Out(out), "<polyline class=\"line\" {} points=\"{}\"/>\n", style, points);
    }
  }
}

void add_legend(std::string& out, const Chart& chart) {
  const std::size_t count = std::min(chart.series.size(), kMostNames);
  double y = kTop + 18;
  for (std::size_t i = 0; i < count; ++i, y += 18) {
    fmt::format_to(Out(out),
                   "<line class=\"line\" {} x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>"
                   "<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                   style_of(chart.series[i], i), kWidth - kRight - 38, y, kWidth - kRight - 10, y,
                   kWidth - kRight - 46, y + 4, xml_text(chart.series[i].name));
  }
  if (count < chart.series.size()) {
    fmt::format_to(Out(out), "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">and {} more</text>\n",
                   kWidth - kRight - 10, y + 4, chart.series.size() - count);
  }
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int wanted) {
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high) || wanted < 1) return {};
  if (low == high) return {low};
  const double raw = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= raw * 0.999) {
      step = digit * power;
      break;
    }
  }
  std::vector<double> ticks;
  // Counted, not added up: adding a small step to a large number may change nothing.
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= 2 * wanted + 2; ++i) {
    const double tick = (first + i) * step;
    if (tick > high + step * 1e-9) break;
    ticks.push_back(tick);
  }
  return ticks;
}

std::string to_svg(const Chart& chart) {
  Axis x{.from = kLeft, .to = kWidth - kRight};
  Axis y{.from = kHeight - kBottom, .to = kTop, .scale = chart.y_scale};
  for (const Series& series : chart.series) {
    for (const auto& point : series.points) {
      if (!drawn(chart, point)) continue;
      x.include(point.first);
      y.include(point.second);
    }
  }
  std::string out;
  add_head(out, chart);
  if (x.empty()) {
    fmt::format_to(Out(out),
                   "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no points yet</text>\n",
                   kWidth / 2, kHeight / 2);
  } else {
    if (chart.y_scale == Scale::kLinear) y.include(0);
    add_axes(out, chart, x, y);
    add_lines(out, chart, x, y);
    add_legend(out, chart);
  }
  return out + "</svg>\n";
}

}  // namespace plab::lab
