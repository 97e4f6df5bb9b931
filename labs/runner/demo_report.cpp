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

std::string processes(int count) {
  return fmt::format("{} process{}", count, count == 1 ? "" : "es");
}

void add_curves(Chart& chart, const Measured& measured) {
  const RunResult& run = measured.first();
  for (std::size_t rank = 0; rank < run.curves.size(); ++rank) {
    Series series{
        .name = measured.processes == 1 ? std::string("1 process")
                                        : fmt::format("rank {} of {}", rank, measured.processes),
        .stroke = measured.processes == 1 ? Series::Stroke::kDashed : Series::Stroke::kSolid};
    for (std::size_t epoch = 0; epoch < run.curves[rank].size(); ++epoch) {
      series.points.emplace_back(static_cast<double>(epoch + 1),
                                 static_cast<double>(run.curves[rank][epoch]));
    }
    chart.series.push_back(std::move(series));
  }
}

json figures(const Measured& measured) {
  const RunResult& run = measured.first();
  json seconds = json::array();
  for (const RunResult& each : measured.runs) seconds.push_back(each.seconds);
  json out{{"processes", measured.processes},
           {"seconds", seconds},
           {"best_seconds", measured.seconds()},
           {"start_seconds", run.start_seconds},
           {"steps", run.steps},
           {"steps_per_second", measured.steps_per_second()},
           {"updates", run.updates},
           {"loss", run.curves}};
  out["accuracy"] = measured.accuracy ? json(*measured.accuracy) : json(nullptr);
  out["lost_updates"] = run.lost ? json(*run.lost) : json(nullptr);
  return out;
}

std::string line_of(const Measured& measured) {
  const RunResult& run = measured.first();
  std::string lost = "not counted";
  if (run.lost && run.updates > 0) {
    lost = fmt::format("{} of {} ({:.4f} %)", *run.lost, run.updates,
                       100.0 * static_cast<double>(*run.lost) / static_cast<double>(run.updates));
  }
  return fmt::format("{:<14} accuracy {}  {:7.3f} s  {:7.0f} steps/s  lost updates {}",
                     processes(measured.processes),
                     measured.accuracy ? fmt::format("{:.4f}", *measured.accuracy) : "-",
                     measured.seconds(), measured.steps_per_second(), lost);
}

}  // namespace

double Measured::seconds() const {
  return std::ranges::min_element(runs, {}, &RunResult::seconds)->seconds;
}

double Measured::steps_per_second() const {
  double best = 0;
  for (const RunResult& run : runs) {
    if (run.seconds > 0) best = std::max(best, static_cast<double>(run.steps) / run.seconds);
  }
  return best;
}

double Report::speed_up() const {
  if (many.runs.empty() || one.steps_per_second() <= 0) return 1;
  return many.steps_per_second() / one.steps_per_second();
}

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
  add_curves(chart, report.one);
  if (!report.many.runs.empty()) add_curves(chart, report.many);
  write(options.out / "loss.svg", to_svg(chart));
  write(options.out / "timeline.html",
        timeline::to_html(report.timeline, "lab demo: " + report.data_name));
  write(options.out / "timeline.json", timeline::to_chrome_json(report.timeline));
  const Network& network = report.main().first().network;
  const std::filesystem::path model = options.out / "model.safetensors";
  // The names of torch.nn.Sequential(Linear, ReLU, Linear).state_dict()
  save_safetensors(model, {.tensors = {{"0.weight", network.weight0},
                                       {"0.bias", network.bias0},
                                       {"2.weight", network.weight2},
                                       {"2.bias", network.bias2}},
                           .metadata = {{"format", "pt"},
                                        {"data", report.data_name},
                                        {"divide_features_by", fmt::format("{}", report.scale)}}});
  files.push_back(model.string());
  if (options.json) {
    json all{{"data", report.data_name},
             {"train_samples", report.train_samples},
             {"test_samples", report.test_samples},
             {"features", report.features},
             {"classes", report.classes},
             {"divide_features_by", report.scale},
             {"test_rows", report.test_rows},
             {"cores", report.cores},
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
    write(*options.json, all.dump(2) + "\n");
  }
  return files;
}

std::vector<std::string> summary(const Report& report) {
  std::vector<std::string> lines{line_of(report.one)};
  if (!report.many.runs.empty()) lines.push_back(line_of(report.many));
  const std::size_t rounds = report.main().runs.size();
  if (rounds > 1) {
    lines.push_back(fmt::format("times: the best of {} trainings each, taken in turn", rounds));
  }
  if (report.main().processes > report.cores) {
    lines.push_back(fmt::format("note: {} on {} core{}: the speed-up is limited by the cores",
                                processes(report.main().processes), report.cores,
                                report.cores == 1 ? "" : "s"));
  }
  for (const Measured* measured : {&report.one, &report.many}) {
    if (measured->runs.empty()) continue;
    const auto& curves = measured->first().curves;
    const bool diverged = std::ranges::any_of(
        curves, [](const auto& curve) { return !curve.empty() && !std::isfinite(curve.back()); });
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
