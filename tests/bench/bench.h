#pragma once
// SPDX-License-Identifier: Apache-2.0
// What `./lab bench` prints: one row per figure, each beside its peer, measured in the same run.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace plab::bench {

/// Which way of comparing a row must meet.
enum class Rule {
  kValueAtMost,   ///< value <= limit
  kRatioAtMost,   ///< value / peer <= limit
  kRatioAtLeast,  ///< value / peer >= limit
  kTimesFaster,   ///< peer / value >= limit: for times, where smaller is better
};

struct Goal {
  Rule rule;
  double limit;
  [[nodiscard]] std::string text() const;
};

/// One line of the table. A peer that is not installed leaves `peer_value` empty: the row is then
/// judged only if its goal does not need the peer.
struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  std::string peer;
  std::optional<double> peer_value{};
  Goal goal{Rule::kValueAtMost, 0};
  std::string note{};

  [[nodiscard]] std::optional<double> ratio() const;  ///< as its goal counts it
  [[nodiscard]] std::optional<bool> ok() const;       ///< nothing when it could not be judged
};

/// The figures of one round of a comparison, ours and the peer's, measured right after each other.
struct Pair {
  double ours = 0;
  double peer = 0;
};

/// Runs both sides `rounds` times, alternating, and keeps the best of each: the machine's noise
/// only ever makes a figure worse. `better` tells which of two figures is the better one.
enum class Better { kLower, kHigher };
[[nodiscard]] Pair alternate(int rounds, Better better, const std::function<double()>& ours,
                             const std::function<double()>& peer);

// Each part appends its rows.
void bench_queue(std::vector<Row>& rows);
void bench_spawn(std::vector<Row>& rows);
void bench_hogwild(std::vector<Row>& rows);
void bench_article(std::vector<Row>& rows);

}  // namespace plab::bench
