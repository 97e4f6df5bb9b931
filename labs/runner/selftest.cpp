// SPDX-License-Identifier: Apache-2.0
#include "selftest.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "ctest_output.h"
#include "plab/base/deadline.h"
#include "plab/os/file.h"
#include "plab/os/pipe.h"
#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/os/signals.h"

namespace plab::lab {

namespace {

using std::chrono::seconds;

// Runs CTest in a process group of its own, so that it can be ended with all its tests.
class CTestRun {
 public:
  CTestRun(const Context& context, const std::vector<std::string>& filter) {
    auto pipe = os::create_pipe();
    os::SpawnOptions options;
    options.argv = {PLAB_LAB_CTEST,         "--test-dir",
                    context.build.string(), "--output-on-failure",
                    "--no-tests=error",     fmt::format("-j{}", os::usable_cores())};
    options.argv.insert(options.argv.end(), filter.begin(), filter.end());
    options.env = os::environment();
    options.descriptors = {{pipe.write.get(), STDOUT_FILENO}, {pipe.write.get(), STDERR_FILENO}};
    options.new_group = os::NewGroup::kYes;
    process_ = os::spawn_process(PLAB_LAB_CTEST, options);
    output_ = std::move(pipe.read);
  }
  CTestRun(const CTestRun&) = delete;
  CTestRun& operator=(const CTestRun&) = delete;
  ~CTestRun() {
    if (!status_) end();
  }

  // Reads for a short while; false at the end of the output.
  template <class OnLine>
  bool read_lines(OnLine on_line) {
    std::array<std::byte, 4096> buffer;
    const auto count =
        os::read_some(output_.get(), buffer, Deadline::after(std::chrono::milliseconds(200)));
    if (!count) return true;
    if (*count == 0) {
      if (!rest_.empty()) on_line(std::string_view(rest_));
      return false;
    }
    rest_.append(reinterpret_cast<const char*>(buffer.data()), *count);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      on_line(std::string_view(rest_).substr(begin, end - begin));
    }
    rest_.erase(0, begin);
    return true;
  }

  [[nodiscard]] os::ExitStatus wait() {
    status_ = process_.wait(Deadline::never());
    return *status_;
  }

  // The whole group: CTest and every test that it runs.
  void end() {
    ::kill(-process_.pid(), SIGTERM);
    status_ = process_.wait(Deadline::after(seconds(5)));
    ::kill(-process_.pid(), SIGKILL);
    if (!status_) status_ = process_.wait(Deadline::after(seconds(5)));
  }

 private:
  os::Process process_;
  os::UniqueFd output_;
  std::string rest_;
  std::optional<os::ExitStatus> status_;
};

// One line that is rewritten on a terminal; elsewhere a line every ten seconds.
class Progress {
 public:
  void show(const CTestOutput& output) {
    const auto now = std::chrono::steady_clock::now();
    const auto elapsed = std::chrono::duration_cast<seconds>(now - start_).count();
    const auto text = fmt::format("selftest: {}/{} tests, {} failed, {} s", output.seen(),
                                  output.total(), output.failed(false), elapsed);
    if (terminal_) {
      fmt::print(stderr, "\r\033[K{} {:.40}", text, output.last());
    } else if (now - shown_ >= seconds(10)) {
      shown_ = now;
      fmt::print(stderr, "{}\n", text);
    }
  }
  void clear() const {
    if (terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool terminal_ = is_terminal(STDERR_FILENO);
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_ = start_ - seconds(10);
};

// Prints the closing line and returns the exit code.
int close(const CTestOutput& output, const os::ExitStatus& status) {
  const int failed = output.failed(true);
  if (output.seen() == 0) {
    fmt::print("selftest: CTest ran no test and {}\n", status.text());
  } else if (failed == 0 && !status.success()) {
    fmt::print("selftest: no test failed, but CTest {}\n", status.text());
  }
  const bool broken = output.seen() == 0 || (failed == 0 && !status.success());
  fmt::print("{} passed, {} failed", output.passed(), failed + (broken ? 1 : 0));
  if (output.skipped() > 0) fmt::print(", {} skipped", output.skipped());
  fmt::print("\n");
  if (broken) return kExitToolDefect;
  return failed == 0 ? kExitPassed : kExitCheckFailed;
}

}  // namespace

int run_selftest(const Context& context, const Arguments& arguments) {
  CLI::App app{"Runs all tests of the project.", "lab selftest"};
  bool quick = false;
  std::vector<std::string> filter;
  std::string pattern;
  std::string label;
  std::string without;
  app.add_flag("--quick", quick, "leave out the slow tests (under two minutes on two cores)");
  app.add_option("--tests", pattern, "only tests whose name matches this regular expression");
  app.add_option("--label", label, "only tests with a label that matches this expression");
  app.add_option("--without", without, "no tests with a label that matches this expression");
  if (const auto code = parse_options(app, arguments)) return *code;
  if (quick) without = without.empty() ? "slow" : without + "|slow";
  if (!without.empty()) filter.insert(filter.end(), {"-LE", without});
  if (!pattern.empty()) filter.insert(filter.end(), {"-R", pattern});
  if (!label.empty()) filter.insert(filter.end(), {"-L", label});

  const os::InterruptFlag interrupt;
  CTestOutput output;
  Progress progress;
  CTestRun run(context, filter);
  const auto on_line = [&](std::string_view line) {
    if (output.take(line) == CTestOutput::Line::kNoise) return;
    progress.clear();
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  while (run.read_lines(on_line)) {
    progress.show(output);
    if (!interrupt.raised()) continue;
    run.end();
    progress.clear();
    fmt::print(stderr, "selftest: interrupted\n");
    return kExitInterrupted;
  }
  progress.clear();
  return close(output, run.wait());
}

}  // namespace plab::lab
