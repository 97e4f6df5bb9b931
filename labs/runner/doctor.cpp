// SPDX-License-Identifier: Apache-2.0
#include "doctor.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration.h"
#include "labs.h"
#include "plab/base/env.h"

namespace plab::lab {

namespace {

std::string_view name_of(Judgement state) {
  switch (state) {
    case Judgement::kOk:
      return "ok";
    case Judgement::kNote:
      return "note";
    case Judgement::kProblem:
      return "problem";
  }
  return "problem";
}

nlohmann::json environment_json() {
  auto list = nlohmann::json::array();
  for (const env::Variable& variable : env::table()) {
    const auto value = env::get(variable.name);
    list.push_back({{"name", variable.name},
                    {"value", value ? nlohmann::json(*value) : nlohmann::json(nullptr)},
                    {"fallback", variable.fallback},
                    {"meaning", variable.meaning}});
  }
  return list;
}

void print_json(const std::vector<Finding>& findings, bool ok) {
  auto list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"name", finding.name},
                    {"value", finding.value},
                    {"state", name_of(finding.state)},
                    {"remedy", finding.remedy}});
  }
  const nlohmann::json document = {
      {"ok", ok}, {"findings", list}, {"environment", environment_json()}};
  // an environment variable may hold any bytes; JSON holds only UTF-8
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_text(const std::vector<Finding>& findings, std::size_t problems) {
  for (const Finding& finding : findings) {
    fmt::print("{:<8} {:<12} {}\n", name_of(finding.state), finding.name, finding.value);
    if (!finding.remedy.empty()) fmt::print("{:>21} {}\n", "->", finding.remedy);
  }
  for (const env::Variable& variable : env::table()) {
    if (const auto value = env::get(variable.name)) {
      fmt::print("{:<8} {:<12} {}={}\n", "ok", "environment", variable.name, *value);
    }
  }
  if (problems == 0) {
    fmt::print("doctor: everything that the labs need is here\n");
  } else {
    fmt::print("doctor: {} problem{}, see the arrows above\n", problems, problems == 1 ? "" : "s");
  }
}

}  // namespace

int run_doctor(const Context& context, const Arguments& arguments) {
  CLI::App app{"What this machine offers, what is wrong with it, and what mends it.", "lab doctor"};
  bool json = false;
  app.add_flag("--json", json, "one JSON document on standard output");
  if (const auto code = parse_options(app, arguments)) return *code;
  auto findings = judge(read_machine());
  const Calibration speed = calibrate(context);
  findings.push_back({"speed", speed.text(), Judgement::kOk, {}});
  findings.push_back(
      {"a check",
       fmt::format("may take {:.0f} s without getting anywhere ({} times {:.0f} ms)",
                   Lab::kUsualLimit * speed.unit(), Lab::kUsualLimit, speed.unit() * 1000),
       Judgement::kOk,
       {}});
  const auto problems =
      static_cast<std::size_t>(std::ranges::count(findings, Judgement::kProblem, &Finding::state));
  if (json) {
    print_json(findings, problems == 0);
  } else {
    print_text(findings, problems);
  }
  return problems == 0 ? kExitPassed : kExitCheckFailed;
}

int run_env(const Context& /*context*/, const Arguments& arguments) {
  CLI::App app{"The environment variables that plab reads.", "lab env"};
  if (const auto code = parse_options(app, arguments)) return *code;
  for (const env::Variable& variable : env::table()) {
    const auto value = env::get(variable.name);
    const std::string shown = value ? *value
                              : variable.fallback.empty()
                                  ? "(not set)"
                                  : fmt::format("(not set: {})", variable.fallback);
    fmt::print("{:<22} {}\n    {}\n", variable.name, shown, variable.meaning);
  }
  return kExitPassed;
}

}  // namespace plab::lab
