// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>

#include "compile.h"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/proc.h"
#include "plab/os/temp.h"
#include "show.h"

namespace plab::lab {
namespace {

namespace fs = std::filesystem;

/// A project with one lab, whose check does what it is told.
class Project {
 public:
  Project() : context_{folder_.path() / "source", folder_.path() / "build"} {
    lab_.number = 99;
    lab_.folder = "99_nasty";
    lab_.id = "nasty";
    fs::create_directories(context_.source);
    build();
    ::setenv("NASTY_BUILD", context_.build.c_str(), 1);
  }
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;
  ~Project() {
    ::unsetenv("NASTY_HOW");
    ::unsetenv("NASTY_BUILD");
  }

  /// As after `./lab` has built it.
  void build() {
    fs::create_directories(context_.build / "labs");
    fs::create_symlink(PLAB_NASTY_CHECK, context_.build / "labs" / target_of(lab_, ""));
  }
  CheckResult run(const std::string& how, CheckOptions options = {}) {
    ::setenv("NASTY_HOW", how.c_str(), 1);
    CheckResult result = run_check(context_, lab_, target_of(lab_, ""), options);
    CHECK(os::child_pids().empty());  // whatever it did, nothing of it is left
    return result;
  }
  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] const Lab& lab() const { return lab_; }

 private:
  os::TempFolder folder_;
  Context context_;
  Lab lab_;
};

TEST_CASE("each way to misbehave gets its verdict, and the next check works", "[lab][supervise]") {
  Project project;
  const auto verdict = [&](const std::string& how, CheckOptions options = {}) {
    const CheckResult result = project.run(how, options);
    CHECK(project.run("").exit_code == kExitPassed);
    return std::pair(result.exit_code, result.code);
  };
  using Pair = std::pair<int, std::string>;
  CHECK(verdict("todo") == Pair(kExitUntouched, ""));
  CHECK(verdict("busy", {.limits = Limits{.quiet = 60, .compute = 0.5, .total = 600}}) ==
        Pair(kExitHang, "LAB-STUCK"));
  CHECK(verdict("print-for-ever", {.limits = Limits{.quiet = 60, .compute = 60, .total = 0.5}}) ==
        Pair(kExitSlow, "LAB-SLOW"));
  CHECK(verdict("fork-50") == Pair(kExitLeftBehind, "LAB-LEFT-BEHIND"));
  CHECK(verdict("fork-50-and-exit") == Pair(kExitCheckFailed, "LAB-EXITED"));
  CHECK(verdict("segv") == Pair(kExitCrash, "LAB-CRASH"));
  CHECK(verdict("segv-in-child") == Pair(kExitCrash, "LAB-CRASH"));
  CHECK(verdict("segv-in-forgotten-child") == Pair(kExitCrash, "LAB-CRASH"));
  CHECK(verdict("kill-parent") == Pair(kExitCrash, "LAB-PARENT-KILLED"));
  CHECK(verdict("print-1-gb") == Pair(kExitPassed, ""));
  // On the screen is the beginning of its line; the file has that, and the end.
  const auto rest = project.context().build / "labs" / "out" / "99" / "output.txt";
  CHECK(fs::file_size(rest) > 10'000);
}

TEST_CASE("a crash names the signal and, in a worker, its rank", "[lab][supervise]") {
  Project project;
  const CheckResult first = project.run("segv");
  CHECK(first.seen.find("SIGSEGV") != std::string::npos);
  CHECK(first.seen.find("misbehave at ") != std::string::npos);
  CHECK(os::read_file(first.stacks).find("main at ") != std::string::npos);
  const std::string seen = project.run("segv-in-child").seen;
  CHECK(seen.find("SIGSEGV") != std::string::npos);
  CHECK(seen.find("process 1 ") != std::string::npos);
  CHECK(seen.find("crash at ") != std::string::npos);
}

TEST_CASE("of many things that are left behind a report shows some and counts the rest",
          "[lab][supervise]") {
  Project project;
  const CheckResult result = project.run("fork-50");
  CHECK(result.seen.find("and 44 more") != std::string::npos);
  const std::string text = report(project.lab(), result);
  CHECK(std::ranges::count(text, '\n') <= 25);
  CHECK(text.find("[LAB-LEFT-BEHIND]") != std::string::npos);
  CHECK(project.run("fork-50-and-exit").seen.find("and 44 more") != std::string::npos);
}

TEST_CASE("what the process of a check still holds at its end is left behind", "[lab][leftovers]") {
  Project project;
  const auto left = [&](const std::string& how, int repeat) {
    const CheckResult result = project.run(how, {.repeat = repeat});
    if (result.exit_code == kExitPassed) return std::string("nothing");
    CHECK(result.exit_code == kExitLeftBehind);
    CHECK(result.code == "LAB-LEFT-BEHIND");
    return result.seen;
  };
  CHECK(left("", 3) == "nothing");
  CHECK(left("zombie", 1).find("nobody has waited for it") != std::string::npos);
  const std::string file = left("open-file", 1);
  CHECK(file.find("is still open: ") != std::string::npos);
  CHECK(file.find("nasty_check") != std::string::npos);
  CHECK(left("open-pipe", 1) == "nothing");  // a pipe of plab's own looks the same
  CHECK(left("open-pipe", 3).find("4 descriptors more (pipe) after 3 rounds") == 0);
}

/// Of a lab.cpp that is built with AddressSanitizer and UndefinedBehaviorSanitizer.
CheckResult run_sanitized(Project& project, const std::string& code) {
  const Context built = with_sanitizer(project.context(), Sanitizer::kAddress);
  fs::create_directories(built.build / "labs");
  const fs::path file = project.context().source / "labs" / "99_nasty" / "lab.cpp";
  fs::create_directories(file.parent_path());
  os::write_file(file, code);
  const std::string compiler =
      "c++ -g -fsanitize=address,undefined -fno-sanitize-recover=undefined '" + file.string() +
      "' -o '" + (built.build / "labs" / "lab_99_nasty").string() + "' 2>&1";
  REQUIRE(std::system(compiler.c_str()) == 0);
  CheckResult result = project.run("", {.sanitizer = Sanitizer::kAddress});
  CHECK(result.exit_code == kExitCheckFailed);
  CHECK(result.code == "LAB-SANITIZER");
  return result;
}

TEST_CASE("what a sanitizer finds is a failure, with the line", "[lab][sanitize]") {
  Project project;
  const CheckResult memory =
      run_sanitized(project,
                    "#include <cstdlib>\nint main(int argc, char**) {\n"
                    "  char* p = static_cast<char*>(std::malloc(4));\n  std::free(p);\n"
                    "  return p[argc - 1] == 7;\n}\n");
  CHECK(memory.seen.starts_with("heap-use-after-free: READ of size 1\nat labs/99_nasty/lab.cpp:5"));
  const auto all = Recording::folder(project.context(), project.lab()) / "sanitizer.txt";
  CHECK(os::read_file(all).find("freed by thread") != std::string::npos);
  const CheckResult undefined =
      run_sanitized(project, "int main(int argc, char**) {\n  return 2147483647 + argc;\n}\n");
  CHECK(undefined.seen.starts_with("signed integer overflow: "));
  CHECK(undefined.seen.find("at labs/99_nasty/lab.cpp:2:") != std::string::npos);
}

TEST_CASE("a lab that removes the build folder fails, and the next build makes it again",
          "[lab][supervise]") {
  Project project;
  const CheckResult result =
      project.run("delete-build", {.timeline = CheckOptions::Timeline::kYes});
  CHECK_FALSE(fs::exists(project.context().build));
  CHECK(result.exit_code == kExitCheckFailed);
  CHECK(result.code == "LAB-BUILD-GONE");
  CHECK(result.seen.find("is gone") != std::string::npos);
  CHECK(text_of(project.lab(), result.code).has_value());
  CHECK_FALSE(can_build(project.context()));
  project.build();
  CHECK(project.run("").exit_code == kExitPassed);
}

/// A project that is really built, by CMake, with a lab.cpp that has this in it.
class BuiltProject {
 public:
  explicit BuiltProject(const std::string& code)
      : context_{folder_.path() / "source", folder_.path() / "build"} {
    const fs::path lab = context_.source / "labs" / "99_nasty";
    fs::create_directories(lab);
    os::write_file(lab / "lab.toml",
                   "id = \"nasty\"\ntitle = \"t\"\nkind = \"practice\"\npytorch = \"p\"\n");
    os::write_file(lab / "lab.cpp", code);
    os::write_file(context_.source / "other.cpp", "int other() { return none; }\n");
    os::write_file(context_.source / "CMakeLists.txt",
                   "cmake_minimum_required(VERSION 3.25)\nproject(nasty CXX)\n"
                   "add_library(core other.cpp)\n"
                   "add_executable(lab_99_nasty labs/99_nasty/lab.cpp)\n");
    const std::string configure = "cmake -G Ninja -S '" + context_.source.string() + "' -B '" +
                                  context_.build.string() + "' >/dev/null";
    REQUIRE(std::system(configure.c_str()) == 0);
  }
  [[nodiscard]] const Context& context() const { return context_; }

 private:
  os::TempFolder folder_;
  Context context_;
};

TEST_CASE("a lab.cpp that does not compile: its first error, no noise, exit code 2",
          "[lab][compile]") {
  const BuiltProject project("int f() { return 1 }\nint g() { return nothing; }\nint main() {}\n");
  const auto problem = compile(project.context(), "lab_99_nasty");
  REQUIRE(problem.has_value());
  CHECK(problem->whose == BuildProblem::Whose::kLearner);
  CHECK(problem->error.find("lab.cpp:1:") != std::string::npos);
  CHECK(problem->error.find("lab.cpp:2:") == std::string::npos);
  for (const char* const noise : {"ninja", "build stopped", "FAILED", "[1/"}) {
    CHECK(problem->error.find(noise) == std::string::npos);
  }
  CHECK(os::read_file(problem->log).find("lab.cpp:2:") != std::string::npos);
  CHECK(run_check_verb(project.context(), {"99"}) == kExitNotCompiled);
  // The next one is built, and what fails then is something else: it is no check.
  os::write_file(project.context().source / "labs" / "99_nasty" / "lab.cpp", "int main() {}\n");
  CHECK_FALSE(compile(project.context(), "lab_99_nasty").has_value());
}

TEST_CASE("a function that is missing is the learner's; another file is not", "[lab][compile]") {
  const BuiltProject project("void f();\nint main() { f(); }\n");
  const auto missing = compile(project.context(), "lab_99_nasty");
  REQUIRE(missing.has_value());
  CHECK(missing->error.find("undefined reference to `f()'") != std::string::npos);
  CHECK(missing->error.find("collect2") == std::string::npos);
  const auto other = compile(project.context(), "core");
  REQUIRE(other.has_value());
  CHECK(other->whose == BuildProblem::Whose::kTool);
}

TEST_CASE("without a build folder a check says so, and is no failure of the lab",
          "[lab][compile]") {
  const BuiltProject project("int main() {}\n");
  fs::remove_all(project.context().build);
  CHECK(run_check_verb(project.context(), {"99"}) == kExitNotRunnable);
}

TEST_CASE("the first error of a build is found in what it printed", "[lab][compile]") {
  const BuildProblem problem = first_error(
      "[1/3] Building CXX object a.o\n"
      "FAILED: labs/CMakeFiles/lab_01_x.dir/01_x/lab.cpp.o \n"
      "g++ -Wall -o lab.cpp.o\n"
      "/p/labs/01_x/lab.cpp: In function 'int f()':\n"
      "/p/labs/01_x/lab.cpp:3:1: error: one\n"
      "    3 | x\n"
      "/p/labs/01_x/lab.cpp:9:1: note: about one\n"
      "/p/labs/01_x/lab.cpp:4:1: error: two\n"
      "ninja: build stopped: subcommand failed.\n");
  CHECK(problem.whose == BuildProblem::Whose::kLearner);
  CHECK(problem.error ==
        "/p/labs/01_x/lab.cpp:3:1: error: one\n    3 | x\n"
        "/p/labs/01_x/lab.cpp:9:1: note: about one\n");
  CHECK(first_error("").error == "the build printed nothing\n");
  CHECK(first_error("ninja: error: unknown target 'x'\n").error ==
        "ninja: error: unknown target 'x'\n");
}

TEST_CASE("a build may lie in a folder of any name", "[lab]") {
  const os::TempFolder folder;
  const auto odd = folder.path() / "it's \"$HOME\" \u00fc";
  fs::create_directories(odd);
  CHECK(run_logged({"sh", "-c", "echo \"$1 $X\"; echo no >&2", "sh", odd.string()}, odd / "a log",
                   {"X=an x"}));
  CHECK(os::read_file(odd / "a log") == odd.string() + " an x\nno\n");
  CHECK_FALSE(run_logged({"false"}, odd / "a log"));
  CHECK(os::read_file(odd / "a log").empty());
  CHECK_THROWS_AS(run_logged({"true"}, odd / "nowhere" / "log"), SystemError);
}

}  // namespace
}  // namespace plab::lab
