// SPDX-License-Identifier: Apache-2.0
// The graph of a verdict: a box for each thread, on a circle, and an arrow to each that it waits
// for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "plab/shm/verdict.h"

namespace plab::shm {

namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 460;
constexpr double kBoxWidth = 260;
constexpr double kBoxHeight = 58;
constexpr std::size_t kMostBoxes = 12;

struct Point {
  double x = 0;
  double y = 0;
};

Point place(std::size_t i, std::size_t count) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(count) -
                       std::numbers::pi / 2;
  const double reach = count == 1 ? 0 : 1;
  return {kWidth / 2 + reach * std::cos(angle) * (kWidth / 2 - kBoxWidth / 2 - 20),
          kHeight / 2 + 20 + reach * std::sin(angle) * (kHeight / 2 - kBoxHeight - 10)};
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string file_name(const Wait& wait) {
  const auto slash = wait.file.rfind('/');
  return slash == std::string::npos ? wait.file : wait.file.substr(slash + 1);
}

std::string head(const Verdict& verdict) {
  return fmt::format(
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">
<style>
text {{ font: 12px system-ui, sans-serif; fill: #24292f; }} .title {{ font-size: 15px; font-weight: 600; }}
.back {{ fill: #ffffff; }} .box {{ fill: #f6f8fa; stroke: #6a737d; }} .knot {{ stroke: #c4314b; stroke-width: 2; }}
.edge {{ stroke: #6a737d; fill: none; stroke-width: 1.6; }} .tip {{ fill: #6a737d; }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #e4e8ec; }} .back {{ fill: #14181c; }} .box {{ fill: #20262c; }} }}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>
<rect class="back" width="{0}" height="{1}"/>
<text class="title" x="20" y="26">{2}</text><text x="20" y="46">{3}</text>
)svg",
      kWidth, kHeight, escaped(verdict.code), escaped(verdict.rule()));
}

/// Ends at the edge of the box, and is bent, so that there and back are two lines.
std::string arrow(Point from, Point to) {
  const double x = to.x - from.x;
  const double y = to.y - from.y;
  const double stop = 1 - std::min({0.45, kBoxWidth / 2 / std::max(1.0, std::abs(x)),
                                    kBoxHeight / 2 / std::max(1.0, std::abs(y))});
  const double bend = 24 / std::hypot(x, y);
  return fmt::format(
      "<path class=\"edge\" marker-end=\"url(#tip)\" d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} "
      "{:.1f}\"/>\n",
      from.x, from.y, from.x + x / 2 - y * bend, from.y + y / 2 + x * bend, from.x + x * stop,
      from.y + y * stop);
}

std::string box(const Wait& wait, Point at, bool in_knot) {
  const double left = at.x - kBoxWidth / 2;
  return fmt::format(
      "<rect class=\"box{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"6\"/>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\">{}:{}</text>\n",
      in_knot ? " knot" : "", left, at.y - kBoxHeight / 2, kBoxWidth, kBoxHeight, left + 8,
      at.y - 12, escaped(who_waits(wait)), left + 8, at.y + 5, escaped(what_for(wait)), left + 8,
      at.y + 22, escaped(file_name(wait)), wait.line);
}

}  // namespace

std::string Verdict::svg() const {
  const std::size_t count = std::min(waits.size(), kMostBoxes);
  std::string out = head(*this);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t to : waits[i].waits_for) {
      if (to < count && to != i) out += arrow(place(i, count), place(to, count));
    }
  }
  for (std::size_t i = 0; i < count; ++i) out += box(waits[i], place(i, count), i < knot);
  return out + "</svg>\n";
}

}  // namespace plab::shm
