// SPDX-License-Identifier: Apache-2.0
// The model that the demo saves, loaded by Python's safetensors, classifies the test rows as well.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "faults/demo_run.h"
#include "plab/os/file.h"
#include "plab/os/temp.h"
#include "support/leak_audit.h"
#include "support/python.h"
#include "twins/python.h"

namespace plab {
namespace {

TEST_CASE("Python loads the demo's model and gets the same accuracy", "[twin][demo]") {
  const std::string library = GENERATE("torch", "numpy");
  if (!test::python_has(library + ", safetensors.numpy")) {
    SKIP("Python has no " + library + " or no safetensors here");
  }
  const test::LeakAudit audit;
  {
    const os::TempFolder folder;
    const std::string figures = (folder.path() / "figures.json").string();
    test::DemoRun run({"--processes", "2", "--seed", library == "torch" ? "5" : "6", "--json",
                       figures, "--quiet"});
    const test::DemoEnd end = run.end();
    INFO(end.text());
    REQUIRE(end.status.success());
    const auto told = nlohmann::json::parse(os::read_file(figures));
    test::Python python("demo_model.py", {PLAB_DIGITS, (run.out() / "model.safetensors").string(),
                                          figures, library});
    std::istringstream answer(python.read_line());
    double rows = 0, right = 0;
    answer >> rows >> right;
    CHECK(python.wait().success());
    CHECK(rows == 359);
    const double accuracy = told.at("many").at("accuracy").get<double>();
    CHECK(accuracy >= 0.96);
    // The same rows are right, whole ones: products may round otherwise, an argmax seldom does.
    CHECK(std::round(accuracy * rows) == right);
  }
  CHECK(audit.leaks() == "");
}

}  // namespace
}  // namespace plab
