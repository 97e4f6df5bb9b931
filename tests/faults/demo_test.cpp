// SPDX-License-Identifier: Apache-2.0
// `lab demo` from outside: what it prints, its exit codes, and what a Ctrl-C or a killed worker
// does.

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "faults/demo_run.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"
#include "plab/tensor/safetensors.h"
#include "support/leak_audit.h"

using namespace std::chrono_literals;
using plab::test::demo;
using plab::test::DemoEnd;
using plab::test::DemoRun;
using plab::test::LeakAudit;

namespace {

bool has(const std::string& all, std::string_view part) {
  return all.find(part) != std::string::npos;
}

std::string file(const plab::os::TempFolder& folder, const std::string& name,
                 const std::string& bytes) {
  std::ofstream(folder.path() / name, std::ios::binary) << bytes;
  return (folder.path() / name).string();
}

// Enough samples to train on: two classes that one number tells apart.
std::string small_csv() {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("{},{},{}\n", i % 2 * 5 + i % 3, i, i % 2);
  }
  return text;
}

}  // namespace

TEST_CASE("the demo learns the digits with one and with two processes", "[faults][demo]") {
  const std::string method = GENERATE("fork", "spawn", "forkserver");
  const LeakAudit audit;
  {
    const plab::os::TempFolder folder;
    const std::string figures = (folder.path() / "figures.json").string();
    DemoRun run(
        {"--processes", "2", "--start-method", method, "--json", figures, "--epochs", "100"});
    const DemoEnd end = run.end();
    INFO(end.text());
    CHECK(end.status.success());
    CHECK(end.err.empty());
    const std::regex form(
        R"(demo: accuracy (0\.\d{4}) \(1 process (0\.\d{4})\), 2 processes, \d+ steps/s, speed-up \d+\.\d\d)");
    std::smatch found;
    const std::string last = end.last_line();
    REQUIRE(std::regex_match(last, found, form));
    CHECK(std::stod(found[1]) >= 0.96);
    CHECK(std::stod(found[2]) >= 0.96);
    const auto all = nlohmann::json::parse(plab::os::read_file(figures));
    CHECK(all.at("many").at("steps") == 4500);
    CHECK(all.at("one").at("steps") == 4500);
    CHECK(all.at("test_rows").size() == 359);
    CHECK(all.at("start_method") == method);
    for (const std::string name : {"loss.svg", "timeline.html", "timeline.json"}) {
      CHECK(std::filesystem::file_size(run.out() / name) > 1000);
    }
    CHECK_FALSE(std::filesystem::exists(run.out() / "rings"));
    const auto trace = nlohmann::json::parse(plab::os::read_file(run.out() / "timeline.json"));
    const std::string text = trace.dump();
    CHECK(has(text, "rank 1 of 2"));
    CHECK(has(text, "backward"));
    const auto model = plab::load_safetensors(run.out() / "model.safetensors");
    CHECK(model.tensors.at("0.weight").sizes() == plab::Shape{128, 64});
    CHECK(model.tensors.at("2.bias").sizes() == plab::Shape{10});
    CHECK(DemoRun::survivors() == "");
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("wrong options exit with 64 and say what is valid", "[faults][demo]") {
  const plab::os::TempFolder folder;
  const std::string plain = file(folder, "plain", "x");
  struct Case {
    std::vector<std::string> words;
    std::string expected;
  };
  const std::vector<Case> cases{{{"--processes", "0"}, "1 to 256"},
                                {{"--processes", "two"}, "--processes"},
                                {{"--epochs", "-1"}, "1 to 100000"},
                                {{"--batch", "0"}, "1 to 65536"},
                                {{"--lr", "0"}, "--lr"},
                                {{"--lr", "nan"}, "--lr"},
                                {{"--hidden", "999999"}, "1 to 16384"},
                                {{"--seed", "-5"}, "--seed"},
                                {{"--start-method", "clone"}, "forkserver"},
                                {{"--wrong"}, "--wrong"},
                                {{"surplus"}, "surplus"},
                                {{"--out", plain + "/x"}, "--out"},
                                {{"--json", "/nowhere/at/all"}, "--json"},
                                {{"--json", folder.path().string()}, "folder"},
                                {{"--out", "/proc/nothing"}, "--out"}};
  for (const Case& each : cases) {
    const DemoEnd end = demo(each.words);
    INFO(each.words.front() << "\n" << end.text());
    CHECK(end.status.code == 64);
    CHECK(has(end.err, each.expected));
    CHECK(end.out.empty());
  }
}

TEST_CASE("bad data exits with 65 and names file, line and column", "[faults][demo]") {
  const plab::os::TempFolder folder;
  struct Case {
    std::string bytes;
    std::string expected;
  };
  const std::vector<Case> cases{{"1,2,0\n3,1\n", ":2:2: 2 fields, not the 3"},
                                {"1,2,0\n3,x,1\n", ":2:2: \"x\" is no number"},
                                {"1,2,0\n3,nan,1\n", ":2:2: \"nan\" is no finite number"},
                                {"1,2,0\n3,4,-1\n", ":2:3: the label is \"-1\""},
                                {"1,2,0\n3,4,99999999\n", ":2:3: the label is \"99999999\""},
                                {"", "empty"},
                                {"1,2,7\n3,4,7\n", "at least two classes"},
                                {std::string("\0\0\x08\x03\0\0", 6), "no file of labels"}};
  for (const Case& each : cases) {
    const std::string path = file(folder, "bad", each.bytes);
    const DemoEnd end = demo({"--data", path});
    INFO(end.text());
    CHECK(end.status.code == 65);
    CHECK(has(end.err, path + (each.expected[0] == ':' ? "" : ": ")));
    CHECK(has(end.err, each.expected));
    CHECK(end.out.empty());
  }
  CHECK(demo({"--data", folder.path().string()}).status.code == 65);
  CHECK(demo({"--data", "/nowhere.csv"}).status.code == 65);
  CHECK(demo({"--data", file(folder, "ok", small_csv()), "--label", "5"}).status.code == 65);
  if (geteuid() != 0) {
    const std::string path = file(folder, "secret", small_csv());
    std::filesystem::permissions(path, std::filesystem::perms::none);
    CHECK(demo({"--data", path}).status.code == 65);
  }
}

TEST_CASE("any data will do, and quiet prints the last line alone", "[faults][demo]") {
  const plab::os::TempFolder folder;
  const std::string path = file(folder, "small.csv", small_csv());
  const DemoEnd end = demo({"--data", path, "--epochs", "3", "--processes", "5", "--quiet"});
  INFO(end.text());
  CHECK(end.status.success());
  CHECK(std::ranges::count(end.out, '\n') == 1);
  CHECK(has(end.out, "5 processes"));
  const DemoEnd one = demo({"--data", path, "--epochs", "2", "--processes", "1"});
  INFO(one.text());
  CHECK(one.status.success());
  CHECK(has(one.last_line(), "1 process, "));
  CHECK(has(one.last_line(), "speed-up 1.00"));
}

TEST_CASE("Ctrl-C at any moment ends all, saves what there is and exits with 130",
          "[faults][demo]") {
  const LeakAudit audit;
  std::mt19937 random(4711);
  const std::vector<std::string> methods{"fork", "spawn", "forkserver"};
  for (int i = 0; i < 15; ++i) {
    DemoRun run({"--processes", "2", "--epochs", "50000", "--start-method",
                 methods[static_cast<std::size_t>(i) % 3]});
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 900'000));
    // As a terminal does it: to every process of the group.
    ::kill(-run.process().pid(), SIGINT);
    const DemoEnd end = run.end();
    INFO(i << " " << end.text());
    // Before the demo has come to its first line there is nobody to catch the signal.
    const bool early = end.status.signal == SIGINT && end.out.empty();
    CHECK((end.status.code == 130 || early));
    if (!early && !has(end.err, "nothing was saved")) {
      CHECK(has(end.err, "interrupted"));
      CHECK(plab::load_safetensors(run.out() / "model.safetensors").tensors.size() == 4);
      CHECK(std::filesystem::exists(run.out() / "loss.svg"));
      CHECK(has(end.last_line(), "demo: accuracy"));
    }
    CHECK(DemoRun::survivors() == "");
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("a killed worker is named with rank, pid and signal, and the exit code is 4",
          "[faults][demo]") {
  const std::string method = GENERATE("fork", "spawn", "forkserver");
  const LeakAudit audit;
  {
    DemoRun run({"--processes", "3", "--epochs", "50000", "--start-method", method});
    std::vector<int> workers;
    const auto deadline = plab::test::patience();
    // The trainings alternate; the last process that came is a worker.
    while (workers.empty() && !deadline.expired()) workers = run.descendants();
    REQUIRE_FALSE(workers.empty());
    std::this_thread::sleep_for(200ms);
    workers = run.descendants();
    REQUIRE_FALSE(workers.empty());
    ::kill(workers.back(), SIGKILL);
    const DemoEnd end = run.end();
    INFO(end.text());
    CHECK(end.status.code == 4);
    CHECK(has(end.err, "SIGKILL"));
    CHECK(has(end.err, std::to_string(workers.back())));
    CHECK(DemoRun::survivors() == "");
  }
  CHECK(audit.leaks() == "");
}
