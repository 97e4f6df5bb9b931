// SPDX-License-Identifier: Apache-2.0
#include "chart.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using plab::lab::Chart;
using plab::lab::nice_ticks;
using plab::lab::Scale;
using plab::lab::to_svg;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Enough of XML for what is written here: every element is closed in order, attributes are quoted,
// no bare & or <.
bool is_well_formed(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '&' && text.find(';', at) > at + 6) return false;
    if (text[at] == '>') return false;
    if (text[at] != '<') continue;
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos || count(tag, "\"") % 2 != 0) return false;
    const std::string name = tag.substr(0, tag.find_first_of(" /\n"));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

}  // namespace

TEST_CASE("ticks are round numbers inside the interval", "[lab][chart]") {
  CHECK(nice_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(nice_ticks(3, 3, 5) == std::vector<double>{3});
  CHECK(nice_ticks(5, 1, 5).empty());
  CHECK(nice_ticks(kNan, 1, 5).empty());
  CHECK(nice_ticks(0, kInfinity, 5).empty());
  for (const auto& [low, high] :
       {std::pair{0.0, 1e-9}, {-7.3, 12.9}, {1e6, 1e6 + 3}, {1.0, 200.0}}) {
    const auto ticks = nice_ticks(low, high, 6);
    CHECK(ticks.size() >= 2);
    CHECK(ticks.size() <= 14);
    CHECK(std::ranges::is_sorted(ticks));
    CHECK(ticks.front() >= low - (high - low) * 1e-6);
    CHECK(ticks.back() <= high + (high - low) * 1e-6);
  }
}

TEST_CASE("a chart is well-formed and has a line for each series", "[lab][chart]") {
  const Chart chart{.title = "<loss> & \"more\" \x01\xff",
                    .x_label = "x & y",
                    .y_label = "a < b",
                    .series = {{.name = "one <1>", .points = {{1, 2.5}, {2, 1.25}, {3, 0.3}}},
                               {.name = "two", .points = {{1, 0.25}}},
                               {.name = "none", .points = {}}},
                    .y_scale = Scale::kLog};
  const std::string svg = to_svg(chart);
  CHECK(is_well_formed(svg));
  CHECK(count(svg, "<polyline") == 1);
  CHECK(count(svg, "<circle") == 1);
  CHECK(count(svg, "one &lt;1&gt;") == 1);
  CHECK(svg.find("http", svg.find("xmlns") + 40) == std::string::npos);  // nothing to fetch
}

TEST_CASE("points that cannot be drawn are left out", "[lab][chart]") {
  const Chart chart{
      .series = {
          {.name = "s", .points = {{1, kNan}, {kInfinity, 1}, {2, -kInfinity}, {3, 4}, {4, 5}}}}};
  const std::string svg = to_svg(chart);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(count(svg, "<polyline") == 1);
  CHECK(to_svg({.series = {{.name = "s", .points = {{1, -1}}}}, .y_scale = Scale::kLog})
            .find("no points yet") != std::string::npos);
  CHECK(is_well_formed(to_svg({})));
}

TEST_CASE("a flat line and a legend of many lines fit", "[lab][chart]") {
  Chart chart{.title = "flat", .y_scale = Scale::kLog};
  for (int i = 0; i < 30; ++i) chart.series.push_back({.name = "s", .points = {{0, 1}, {1, 1}}});
  const std::string svg = to_svg(chart);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("and 18 more") != std::string::npos);
}
