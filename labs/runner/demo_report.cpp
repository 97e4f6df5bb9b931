// SPDX-License-Identifier: Apache-2.0
#include "demo_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "chart.h"
#include "plab/base/timeline_export.h"
#include "plab/os/file.h"
#include "plab/tensor/safetensors.h"

namespace plab::lab {

namespace {

using nlohmann::json;

constexpr double kBusy = 0.5;  // of the cores; more load than that shows in the times

std::string processes(int count) {
  return fmt::format("{} process{}", count, count == 1 ? "" : "es");
}

void add_curves(Chart& chart, const Measured& measured, int epochs) {
  const auto& workers = measured.first().workers;
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    const bool alone = measured.processes == 1;
    Series series{.name = alone ? std::string("1 process")
                                : fmt::format("rank {} of {}", rank, measured.processes),
                  .stroke = alone ? Series::Stroke::kDashed : Series::Stroke::kSolid};
    const auto wanted = static_cast<double>(workers[rank].progress.steps_wanted);
    for (const parallel::LossPoint& point : workers[rank].curve) {
      series.points.emplace_back(static_cast<double>(point.step) * epochs / wanted, point.loss);
    }
    chart.series.push_back(std::move(series));
  }
}

json figures(const Measured& measured) {
  const parallel::HogwildResult& run = measured.first();
  json seconds = json::array();
  for (const auto& each : measured.runs) seconds.push_back(each.train_seconds);
  json curves = json::array();
  for (const auto& worker : run.workers) {
    json curve = json::array();
    for (const auto& point : worker.curve) curve.push_back({point.seconds, point.step, point.loss});
    curves.push_back(std::move(curve));
  }
  json out{{"processes", measured.processes},
           {"seconds", seconds},
           {"best_seconds", measured.seconds()},
           {"start_and_end_seconds", run.seconds - run.train_seconds},
           {"steps", run.steps},
           {"steps_per_second", measured.steps_per_second()},
           {"element_updates", run.lost_updates.stores},
           {"element_updates_checked", run.lost_updates.checked},
           {"lost_of_checked", run.lost_updates.lost},
           {"lost_updates_estimate", run.lost_updates.estimate()},
           {"curve_columns", {"seconds", "step", "loss"}},
           {"curves", curves}};
  out["accuracy"] = measured.accuracy ? json(*measured.accuracy) : json(nullptr);
  return out;
}

std::string line_of(const Measured& measured) {
  const parallel::LostUpdates& lost = measured.first().lost_updates;
  return fmt::format(
      "{:<14} accuracy {}  {:7.3f} s  {:7.0f} steps/s  lost updates {:.0f} of {:.2e}",
      processes(measured.processes),
      measured.accuracy ? fmt::format("{:.4f}", *measured.accuracy) : "-", measured.seconds(),
      measured.steps_per_second(), lost.estimate(), static_cast<double>(lost.stores));
}

}  // namespace

double Measured::seconds() const {
  return std::ranges::min_element(runs, {}, &parallel::HogwildResult::train_seconds)->train_seconds;
}

double Measured::steps_per_second() const {
  if (runs.empty()) return 0;
  return std::ranges::max_element(runs, {}, &parallel::HogwildResult::steps_per_second)
      ->steps_per_second;
}

double Report::speed_up() const {
  if (many.runs.empty() || one.steps_per_second() <= 0) return 1;
  return many.steps_per_second() / one.steps_per_second();
}

namespace {

void save_model(const std::filesystem::path& file, const Report& report) {
  SafeTensors content{.tensors = {},
                      .metadata = {{"format", "pt"},
                                   {"data", report.data_name},
                                   {"divide_features_by", fmt::format("{}", report.scale)}}};
  for (const auto& [name, tensor] : report.main().first().model->state_dict()) {
    content.tensors.emplace(name, tensor);
  }
  save_safetensors(file, content);
}

json to_json(const DemoOptions& options, const Report& report,
             const std::vector<std::string>& files) {
  json all{{"data", report.data_name},
           {"train_samples", report.train_samples},
           {"test_samples", report.test_samples},
           {"features", report.features},
           {"classes", report.classes},
           {"divide_features_by", report.scale},
           {"test_rows", report.test_rows},
           {"cores", report.cores},
           {"load_before", report.load},
           {"seed", options.seed},
           {"epochs", options.epochs},
           {"batch", options.batch},
           {"lr", options.lr},
           {"hidden", options.hidden},
           {"start_method", mp::name_of(options.start_method)},
           {"interrupted", report.interrupted},
           {"one", figures(report.one)},
           {"speed_up", report.speed_up()},
           {"files", files}};
  all["many"] = report.many.runs.empty() ? json(nullptr) : figures(report.many);
  return all;
}

}  // namespace

std::vector<std::string> write_files(const DemoOptions& options, const Report& report) {
  std::vector<std::string> files;
  const auto write = [&](const std::filesystem::path& path, const std::string& bytes) {
    os::write_file(path, bytes);
    files.push_back(path.string());
  };
  Chart chart{.title = "Training loss: " + report.data_name,
              .x_label = "passes over the training data",
              .y_label = "mean loss of the pass",
              .y_scale = Scale::kLog};
  add_curves(chart, report.one, options.epochs);
  if (!report.many.runs.empty()) add_curves(chart, report.many, options.epochs);
  write(options.out / "loss.svg", to_svg(chart));
  write(options.out / "timeline.html",
        timeline::to_html(report.timeline, "lab demo: " + report.data_name));
  write(options.out / "timeline.json", timeline::to_chrome_json(report.timeline));
  const std::filesystem::path model = options.out / "model.safetensors";
  save_model(model, report);
  files.push_back(model.string());
  if (options.json) write(*options.json, to_json(options, report, files).dump(2) + "\n");
  return files;
}

std::vector<std::string> summary(const Report& report) {
  std::vector<std::string> lines{line_of(report.one)};
  if (!report.many.runs.empty()) lines.push_back(line_of(report.many));
  const parallel::LostUpdates& lost = report.main().first().lost_updates;
  if (report.main().processes > 1) {
    lines.push_back(
        fmt::format("lost updates: estimated from {} stores that were checked; {} were lost",
                    lost.checked, lost.lost));
  }
  const std::size_t rounds = report.main().runs.size();
  if (rounds > 1) {
    lines.push_back(fmt::format("times: the best of {} trainings each, taken in turn", rounds));
  }
  if (report.main().processes > report.cores) {
    lines.push_back(fmt::format("note: {} on {} core{}: the speed-up is limited by the cores",
                                processes(report.main().processes), report.cores,
                                report.cores == 1 ? "" : "s"));
  }
  if (report.load > kBusy * report.cores) {
    lines.push_back(
        fmt::format("note: the machine was busy (load {:.1f} on {} cores): times and "
                    "speed-up are those of what others left of it",
                    report.load, report.cores));
  }
  for (const Measured* measured : {&report.one, &report.many}) {
    if (measured->runs.empty()) continue;
    const bool diverged = std::ranges::any_of(measured->first().workers, [](const auto& worker) {
      return !std::isfinite(worker.progress.loss);
    });
    if (diverged) {
      lines.push_back(fmt::format("note: the loss of {} is no longer a number; give a smaller --lr",
                                  processes(measured->processes)));
    }
  }
  return lines;
}

std::string last_line(const Report& report) {
  const auto text = [](const Measured& measured) {
    return !measured.runs.empty() && measured.accuracy ? fmt::format("{:.4f}", *measured.accuracy)
                                                       : "-";
  };
  return fmt::format("demo: accuracy {} (1 process {}), {}, {:.0f} steps/s, speed-up {:.2f}",
                     text(report.main()), text(report.one), processes(report.main().processes),
                     report.main().steps_per_second(), report.speed_up());
}

}  // namespace plab::lab
