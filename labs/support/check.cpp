// SPDX-License-Identifier: Apache-2.0
#include "support/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "plab/mp/spawn.h"
#include "plab/os/file.h"
#include "support/not_done.h"
#include "support/own_leftovers.h"

namespace plab::lab {

namespace {

using nlohmann::json;

enum Exit : int { kPassed = 0, kFailed = 1, kNotDone = 7, kUsage = 64, kDefect = 70 };

struct Options {
  std::uint64_t seed = 1;
  int repeat = 1;
  std::string method = "fork";
};

mp::StartMethod method_named(const std::string& name) {
  for (const auto method :
       {mp::StartMethod::kFork, mp::StartMethod::kSpawn, mp::StartMethod::kForkServer}) {
    if (mp::name_of(method) == name) return method;
  }
  throw std::invalid_argument("there is no start method " + name);
}

/// What came of it, for the lab tool.
void tell(const json& result) {
  const char* const file = std::getenv("PLAB_CHECK_RESULT");
  if (file != nullptr) {
    os::write_file(file, result.dump(2) + "\n");
  } else {
    fmt::print("{}\n", result.dump(2));
  }
}

/// "TODO(3) is not done yet", thrown here or in a child: 3.
std::optional<int> todo_of(std::string_view message) {
  constexpr std::string_view kBegin = "TODO(";
  const auto at = message.find(kBegin);
  if (at == std::string_view::npos || message.find(") is not done yet", at) == message.npos) {
    return std::nullopt;
  }
  return std::atoi(message.data() + at + kBegin.size());
}

json not_done(int todo, std::string_view where) {
  return {{"result", "not done"}, {"todo", todo}, {"case", where}};
}

json failed(std::string_view code, std::string_view seen, std::string_view where) {
  return {{"result", "failed"}, {"code", code}, {"seen", seen}, {"case", where}};
}

/// Runs one case. Nothing: it holds.
std::optional<json> run_case(const CheckCase& one, CheckRun& run) {
  const std::int64_t before = run.required();
  try {
    one.run(run);
  } catch (const NotDone& hole) {
    return not_done(hole.todo(), one.name);
  } catch (const CheckFailed& problem) {
    return failed(problem.code(), problem.what(), one.name);
  } catch (const mp::ProcessRaised& problem) {
    if (const auto todo = todo_of(problem.message())) return not_done(*todo, one.name);
    return failed(
        "LAB-CHILD-EXCEPTION",
        fmt::format("rank {} (pid {}) threw {}", problem.rank(), problem.pid(), problem.message()),
        one.name);
  } catch (const mp::ProcessExited& problem) {
    const char* const code = problem.signal_name().empty() ? "LAB-CHILD-EXCEPTION" : "LAB-CRASH";
    return failed(code, problem.what(), one.name);
  } catch (const std::exception& problem) {
    if (const auto todo = todo_of(problem.what())) return not_done(*todo, one.name);
    return failed("LAB-EXCEPTION", problem.what(), one.name);
  }
  if (run.required() - before < one.least) {
    return json{{"result", "defect"},
                {"seen", fmt::format("\"{}\" made {} requirements, not the {} that it announces",
                                     one.name, run.required() - before, one.least)}};
  }
  return std::nullopt;
}

int code_of(const json& result) {
  const std::string kind = result.at("result");
  if (kind == "not done") return kNotDone;
  return kind == "failed" ? kFailed : kDefect;
}

int run_all(const Options& options, std::span<const CheckCase> cases) {
  std::int64_t required = 0;
  OwnLeftovers leftovers;
  mp::set_start_method(method_named(options.method));
  for (int round = 0; round < options.repeat; ++round) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(round);
    CheckRun run(seed, method_named(options.method));
    for (const CheckCase& one : cases) {
      if (auto wrong = run_case(one, run)) {
        (*wrong)["seed"] = seed;
        tell(*wrong);
        return code_of(*wrong);
      }
    }
    required += run.required();
    leftovers.note_round();
    if (round + 1 == options.repeat) {
      tell({{"result", "passed"},
            {"proved", run.proofs()},
            {"required", required},
            {"left", leftovers.found()},
            {"seed", seed}});
    }
  }
  return kPassed;
}

}  // namespace

void CheckRun::fail(std::string_view code, std::string seen) { throw CheckFailed(code, seen); }

void pass_on_not_done(mp::Process& worker) {
  if (worker.is_alive()) return;
  const auto error = worker.error();
  if (!error) return;
  if (const auto todo = todo_of(error->message())) throw NotDone(*todo);
}

int run_checks(int argc, char** argv, std::span<const CheckCase> cases) {
  Options options;
  CLI::App app{"the check of one lab"};
  app.add_option("--seed", options.seed, "what the numbers of the check come from");
  app.add_option("--repeat", options.repeat, "how often, each time with the next seed")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--start-method", options.method, "fork, spawn or forkserver")
      ->check(CLI::IsMember({"fork", "spawn", "forkserver"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? int{kPassed} : int{kUsage};
  }
  return run_all(options, cases);
}

}  // namespace plab::lab
