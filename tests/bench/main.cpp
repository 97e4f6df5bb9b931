// SPDX-License-Identifier: Apache-2.0
// `./lab bench`: every figure beside its peer, measured in the same run.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/bench.h"
#include "bench/peers.h"
#include "plab/mp/init.h"

namespace {

using plab::bench::Row;

struct Part {
  const char* name;
  const char* says;
  void (*run)(std::vector<Row>&);
};

constexpr Part kParts[] = {
    {"queue", "queues", plab::bench::bench_queue},
    {"spawn", "starting processes", plab::bench::bench_spawn},
    {"hogwild", "training steps", plab::bench::bench_hogwild},
    {"article", "the article's example", plab::bench::bench_article},
};

void print(const Row& row) {
  const auto ok = row.ok();
  const auto ratio = row.ratio();
  fmt::print("{:<52} {:>10.4g} {:<7}  {:<24} {:>10}  {:>8}  {:<22} {}\n", row.name, row.value,
             row.unit, row.peer, row.peer_value ? fmt::format("{:.4g}", *row.peer_value) : "absent",
             ratio ? fmt::format("{:.3g}", *ratio) : "-", row.goal.text(),
             !ok   ? "not measured"
             : *ok ? "ok"
                   : "MISSED");
  if (!row.note.empty()) fmt::print("    ({})\n", row.note);
  std::fflush(stdout);
}

nlohmann::ordered_json to_json(const Row& row) {
  const auto ratio = row.ratio();
  const auto ok = row.ok();
  nlohmann::ordered_json json{
      {"name", row.name}, {"value", row.value}, {"unit", row.unit}, {"peer", row.peer}};
  json["peer_value"] = row.peer_value ? nlohmann::ordered_json(*row.peer_value) : nullptr;
  json["ratio"] = ratio ? nlohmann::ordered_json(*ratio) : nullptr;
  json["goal"] = row.goal.text();
  json["ok"] = ok ? nlohmann::ordered_json(*ok) : nullptr;
  if (!row.note.empty()) json["note"] = row.note;
  return json;
}

int run(const std::vector<std::string>& only, const std::string& json_file) {
  std::vector<Row> rows;
  for (const auto& part : kParts) {
    if (!only.empty() && std::ranges::find(only, part.name) == only.end()) continue;
    fmt::print(stderr, "measuring {} ...\n", part.says);
    const std::size_t before = rows.size();
    part.run(rows);
    for (std::size_t i = before; i < rows.size(); ++i) print(rows[i]);
  }
  if (!json_file.empty()) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const auto& row : rows) json.push_back(to_json(row));
    std::ofstream file(json_file);
    file << json.dump(2) << '\n';
    if (!file.flush()) {
      fmt::print(stderr, "bench: cannot write {}: {}\n", json_file, std::strerror(errno));
      return 1;
    }
  }
  const auto count = [&](std::optional<bool> state) {
    return std::ranges::count_if(rows, [&](const Row& row) { return row.ok() == state; });
  };
  fmt::print("bench: {} goals met, {} missed, {} without their peer\n", count(true), count(false),
             count(std::nullopt));
  return count(false) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], plab::bench::kReturnAtOnce) == 0) return 0;
  plab::mp::init(argc, argv);
  CLI::App app{"Measures plab beside what a user would pick instead, in one run", "lab bench"};
  std::string json_file;
  std::vector<std::string> only;
  app.add_option("--json", json_file, "also write the rows to this file");
  app.add_option("--only", only, "parts to measure: queue, spawn, hogwild, article")
      ->check(CLI::IsMember({"queue", "spawn", "hogwild", "article"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  try {
    return run(only, json_file);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 70;
  }
}
