#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the demo leaves behind: figures, curves, timeline, model.

#include <optional>
#include <string>
#include <vector>

#include "demo_options.h"
#include "plab/base/timeline_reader.h"
#include "plab/parallel/hogwild.h"

namespace plab::lab {

/// The trainings with one number of processes. The first one gives model and curves; the fastest
/// one the time, since other programs can only make a training slower.
struct Measured {
  int processes = 1;
  std::vector<parallel::HogwildResult> runs{};
  std::optional<double> accuracy{};  ///< of the first one, on the test samples

  [[nodiscard]] const parallel::HogwildResult& first() const { return runs.front(); }
  [[nodiscard]] double seconds() const;  ///< of the fastest
  [[nodiscard]] double steps_per_second() const;
};

struct Report {
  std::string data_name{};
  std::int64_t train_samples = 0;
  std::int64_t test_samples = 0;
  std::int64_t features = 0;
  std::int64_t classes = 0;
  double scale = 1;                       ///< features were divided by it
  std::vector<std::int64_t> test_rows{};  ///< the samples of the file that were held back
  int cores = 1;
  double load = 0;  ///< of the last minute before the demo: programs that wanted to run
  bool interrupted = false;
  Measured one{.processes = 1};
  Measured many{};  ///< empty `runs` when there is nothing to compare, or it did not come to it
  timeline::Timeline timeline{};

  /// The one whose model is kept: the many if they have run.
  [[nodiscard]] const Measured& main() const { return many.runs.empty() ? one : many; }
  [[nodiscard]] double speed_up() const;
};

/// Writes loss.svg, timeline.html, timeline.json, model.safetensors into options.out, and the
/// figures into options.json if it is set.
/// @return the files
/// @throws SystemError, ResourceError when one cannot be written
std::vector<std::string> write_files(const DemoOptions& options, const Report& report);

/// The figures as lines for people, without the last one.
[[nodiscard]] std::vector<std::string> summary(const Report& report);
/// "demo: accuracy A (1 process B), N processes, S steps/s, speed-up X"
[[nodiscard]] std::string last_line(const Report& report);

}  // namespace plab::lab
