// SPDX-License-Identifier: Apache-2.0
#include "demo.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "demo_options.h"
#include "demo_progress.h"
#include "demo_report.h"
#include "plab/base/error.h"
#include "plab/base/timeline.h"
#include "plab/data/csv.h"
#include "plab/data/idx.h"
#include "plab/mp/spawn.h"
#include "plab/os/proc.h"
#include "plab/os/signals.h"
#include "plab/os/timeline_store.h"
#include "plab/parallel/hogwild.h"

namespace plab::lab {

namespace {

constexpr double kTrainPart = 0.8;
constexpr std::uint64_t kSplitSeed = 80'20;  // fixed: --seed changes the network, not the test
// Short trainings are measured several times in turn, so that a busy moment of the machine does not
// decide; long ones once.
constexpr int kRounds = 3;
constexpr double kLongSeconds = 3;

data::TensorDataset load(const DemoOptions& options) {
  const auto& first = options.data.front();
  if (options.data.size() == 2) return data::read_idx_pair(first, options.data[1]);
  if (data::looks_like_idx(first)) {
    const auto labels = data::labels_beside(first);
    if (labels.empty()) {
      throw DataError(first.string(), 0, 0,
                      "these are IDX samples, and no file of labels lies beside them; give both: "
                      "--data SAMPLES LABELS");
    }
    return data::read_idx_pair(first, labels);
  }
  return data::read_csv(first, {.label = options.label});
}

class Demo {
 public:
  explicit Demo(DemoOptions options) : options_(std::move(options)) {
    if (options_.verbosity == Verbosity::kQuiet) {
      screen_ = Screen::kNone;
    } else {
      screen_ = is_terminal(STDOUT_FILENO) ? Screen::kBars : Screen::kLines;
    }
  }

  int run() {
    if (const auto wrong = check_outputs(options_)) {
      fmt::print(stderr, "lab demo: {}\n", *wrong);
      return kExitUsage;
    }
    prepare();
    if (!interrupt_.raised()) train_all();
    return finish();
  }

 private:
  void say(const std::string& line) const {
    if (screen_ == Screen::kNone) return;
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  void prepare() {
    const data::TensorDataset all = load(options_);
    if (all.size() < 2) throw DataError(options_.data[0].string(), 0, 0, "one sample is too few");
    data::Split split = data::split(all, kTrainPart, kSplitSeed);
    report_.scale = data::scale_by_max(split.test, split.train);
    data::scale_by_max(split.train, split.train);
    if (!(report_.scale > 0)) report_.scale = 1;
    report_.data_name = options_.data[0].filename().string();
    report_.train_samples = split.train.size();
    report_.test_samples = split.test.size();
    report_.features = all.width();
    report_.classes = all.classes;
    report_.test_rows = split.test_rows.to_vector<std::int64_t>();
    report_.cores = os::usable_cores();
    if (getloadavg(&report_.load, 1) != 1) report_.load = 0;
    report_.many.processes = options_.processes;
    split_ = std::move(split);
    say(fmt::format("{}: {} samples of {} numbers in {} classes; {} for training, {} for the test",
                    report_.data_name, all.size(), all.width(), all.classes, report_.train_samples,
                    report_.test_samples));
    say(
        fmt::format("network {}-{}-{}, {} epochs of batches of {}; Hogwild with {} processes "
                    "({}) on {} cores",
                    all.width(), options_.hidden, all.classes, options_.epochs, options_.batch,
                    options_.processes, mp::name_of(options_.start_method), report_.cores));
  }

  // One training; false when it was interrupted.
  bool train_once(Measured& measured, int round) {
    const std::string title =
        fmt::format("{} process{}{}", measured.processes, measured.processes == 1 ? "" : "es",
                    round == 0 ? "" : fmt::format(", again ({} of {})", round + 1, kRounds));
    Progress progress(screen_, title);
    std::atomic<bool> stop{false};
    parallel::HogwildOptions how;
    how.processes = measured.processes;
    how.epochs = options_.epochs;
    how.batch = options_.batch;
    how.lr = options_.lr;
    how.seed = options_.seed;
    how.start_method = options_.start_method;
    how.stop = &stop;
    how.progress_every = std::chrono::milliseconds(50);
    how.progress = [&](const std::vector<parallel::WorkerProgress>& workers) {
      if (interrupt_.raised()) stop = true;
      progress.show(workers);
    };
    const parallel::ModelSpec network{.sizes = {report_.features, options_.hidden, report_.classes},
                                      .seed = options_.seed};
    const parallel::TrainingData train{split_.train.features, split_.train.labels};
    try {
      measured.runs.push_back(parallel::hogwild(parallel::make_mlp, network, train, how));
    } catch (const Error&) {
      // Ctrl-C in a terminal reaches the workers too, and one that has just begun dies of it.
      if (!interrupt_.raised()) throw;
      return false;
    }
    progress.finish();
    const parallel::HogwildResult& run = measured.runs.back();
    // A Ctrl-C may have reached a worker alone.
    if (run.stopped) stopped_ = true;
    if (!measured.accuracy && run.steps > 0) {
      measured.accuracy =
          parallel::accuracy(*run.model, {split_.test.features, split_.test.labels});
    }
    return !interrupted();
  }

  void train_all() {
    const std::filesystem::path rings = options_.out / "rings";
    os::remove_timeline(rings);
    os::start_timeline(rings);
    timeline::name_process("lab demo");
    bool go_on = train_once(report_.one, 0);
    if (go_on && options_.processes > 1) go_on = train_once(report_.many, 0);
    report_.timeline = os::read_timeline(rings);  // the first round is enough to look at
    os::stop_timeline();
    const bool is_short = go_on && report_.one.first().train_seconds < kLongSeconds;
    for (int round = 1; go_on && is_short && options_.processes > 1 && round < kRounds; ++round) {
      go_on = train_once(report_.one, round) && train_once(report_.many, round);
    }
    os::remove_timeline(rings);
  }

  [[nodiscard]] bool interrupted() const { return stopped_ || interrupt_.raised(); }

  int finish() {
    report_.interrupted = interrupted();
    drop_unfinished(report_.one);
    drop_unfinished(report_.many);
    if (report_.one.runs.empty()) {
      fmt::print(stderr, "lab demo: interrupted before the training began; nothing was saved\n");
      return exit_code();
    }
    const auto files = write_files(options_, report_);
    for (const std::string& line : summary(report_)) say(line);
    for (const std::string& file : files) say("wrote " + file);
    if (report_.interrupted) {
      std::fflush(stdout);
      fmt::print(stderr, "lab demo: interrupted; what was reached is saved in {}\n",
                 options_.out.string());
    }
    fmt::print("{}\n", last_line(report_));
    return exit_code();
  }

  // A training that was cut short says nothing about speed, except that it may be the only one.
  void drop_unfinished(Measured& measured) const {
    const auto wanted = [](const parallel::HogwildResult& run) {
      std::int64_t steps = 0;
      for (const auto& worker : run.workers) steps += worker.progress.steps_wanted;
      return steps;
    };
    auto& runs = measured.runs;
    if (runs.size() > 1 && runs.back().steps < wanted(runs.front())) runs.pop_back();
    if (!measured.runs.empty() && measured.runs.front().steps == 0) measured.runs.clear();
  }

  [[nodiscard]] int exit_code() const {
    if (!interrupted()) return kExitPassed;
    const int signal = interrupt_.raised().value_or(SIGINT);
    return signal == SIGINT ? int{kExitInterrupted} : 128 + signal;
  }

  DemoOptions options_;
  Screen screen_ = Screen::kLines;
  os::InterruptFlag interrupt_;
  bool stopped_ = false;
  data::Split split_;
  Report report_;
};

int failed(const std::string& what, int code) {
  std::fflush(stdout);
  fmt::print(stderr, "lab demo: {}\n", what);
  return code;
}

}  // namespace

int run_demo(const Context& context, const Arguments& arguments) {
  ParsedDemo parsed = parse_demo_options(context, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  try {
    return Demo(std::move(parsed.options)).run();
  } catch (const DataError& error) {
    return failed(error.what(), kExitBadData);
  } catch (const mp::ProcessExited& error) {
    std::string how = fmt::format("exited with code {}", error.exit_code());
    if (!error.signal_name().empty()) how = "was killed by " + error.signal_name();
    return failed(fmt::format("rank {} (pid {}) {}; the other processes were ended", error.rank(),
                              error.pid(), how),
                  kExitCrash);
  } catch (const PeerDied& error) {  // the forkserver
    return failed(error.what(), kExitCrash);
  } catch (const mp::ProcessRaised& error) {
    return failed(error.what(), kExitToolDefect);
  } catch (const TimeoutError& error) {
    return failed(error.what(), kExitHang);
  } catch (const ResourceError& error) {
    return failed(error.what(), kExitNotRunnable);
  } catch (const SystemError& error) {
    return failed(error.what(), kExitNotRunnable);
  }
}

}  // namespace plab::lab
