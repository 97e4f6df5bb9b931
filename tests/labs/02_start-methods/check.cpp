// SPDX-License-Identifier: Apache-2.0
// The check of lab 02. The check measures by itself what a child finds, so a table that is right
// for this machine's methods is right, and no other one.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <random>
#include <sstream>
#include <thread>

#include "02_start-methods/lab.hpp"
#include "plab/base/error.h"
#include "plab/mp/sync.h"
#include "plab/os/file.h"
#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/os/temp.h"
#include "plab/shm/mutex.h"
#include "support/check.h"
#include "support/not_done.h"

namespace lab02 {

using namespace plab;

namespace {

using lab::CheckRun;

// What the parent has. In a fresh program all of this is as it stands here.
std::atomic<std::uint64_t> g_global{0};
std::atomic<bool> g_thread_runs{false};
std::mt19937_64 g_random(1);  // NOLINT(cert-msc51-cpp): a fresh program is to have the same one
std::optional<int> g_hole;    // start_up's
int g_loads = 0;

constexpr const char* kVariable = "LAB02_VARIABLE";  // set to the seed
constexpr const char* kLoads = "LAB02_LOADS";        // a file with a line for each load()

/// The lock of this process: in memory of its own.
shm::Mutex& own_lock() {
  static shm::Mutex lock;
  return lock;
}

/// What a child is asked, and the parent's next random number, in a file: it must be known to
/// children of all kinds, and not by way of what is measured.
struct Question {
  std::uint64_t global = 0;
  std::uint64_t next_random = 0;
  std::string open_file;
};

std::filesystem::path question_file() {
  // A check runs in a process group of its own, whose leader never changes.
  return std::filesystem::temp_directory_path() / fmt::format("plab-lab02-{}", ::getpgrp());
}

Question read_question() {
  std::istringstream text(os::read_file(question_file()));
  Question question;
  text >> question.global >> question.next_random >> question.open_file;
  return question;
}

bool has_open(const std::string& path) {
  for (const auto& open : os::open_descriptors()) {
    if (open.target == path) return true;
  }
  return false;
}

}  // namespace

void load() {
  ++g_loads;
  if (const char* const file = std::getenv(kLoads)) {
    const os::UniqueFd out(::open(file, O_WRONLY | O_APPEND | O_CLOEXEC));
    const std::string line = fmt::format("{}\n", ::getpid());
    if (::write(out.get(), line.data(), line.size()) < 0) std::abort();
  }
}

void look(mp::SimpleQueue<Sight> found) {
  const Question question = read_question();
  const bool thread_was_running = g_thread_runs.exchange(false);
  Sight sight;
  sight.global = g_global == question.global;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a thread would set it again
  sight.thread = thread_was_running && g_thread_runs;
  sight.descriptor = has_open(question.open_file);
  sight.lock_held = own_lock().owner().pid != 0;
  sight.random = g_random() == question.next_random;
  sight.environment = std::getenv(kVariable) != nullptr;
  found.put(sight, Deadline::never());
}

void scale_all(double factor, mp::SimpleQueue<double> in, mp::SimpleQueue<double> out) {
  // Whoever has the parent's global was not started fresh.
  out.put(g_global == 0 ? 0 : 1, Deadline::never());
  while (const auto number = in.get(Deadline::never())) {
    if (*number < 0) return;
    out.put(factor * *number, Deadline::never());
  }
}

namespace {

/// While it lives this process has everything that a Sight is about.
class Parent {
 public:
  explicit Parent(std::uint64_t seed) {
    file_ = (folder_.path() / "open").string();
    open_ = os::UniqueFd(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    g_global = seed + 1000;
    g_random.seed(seed + 1'000'000);  // never that of a fresh program
    auto copy = g_random;
    os::write_file(question_file(), fmt::format("{} {} {}\n", g_global.load(), copy(), file_));
    ::setenv(kVariable, std::to_string(seed).c_str(), 1);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      const shm::LockGuard guard(own_lock(), Deadline::never());
      while (!stop.stop_requested()) {
        g_thread_runs = true;
        ready_ = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    while (!ready_) std::this_thread::yield();
  }
  ~Parent() {
    thread_ = std::jthread();
    g_global = 0;
    g_thread_runs = false;
    ::unsetenv(kVariable);
    std::error_code ignored;
    std::filesystem::remove(question_file(), ignored);
  }
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;

 private:
  os::TempFolder folder_;
  std::string file_;
  os::UniqueFd open_;
  std::atomic<bool> ready_{false};
  std::jthread thread_;
};

constexpr std::array kMethods{mp::StartMethod::kFork, mp::StartMethod::kSpawn,
                              mp::StartMethod::kForkServer};

void nothing() {}

mp::Process by(mp::StartMethod method, void (*work)()) {
  return mp::Process(
      mp::ProcessOptions{.start_method = method, .print_errors = mp::PrintErrors::kNo}, work);
}

void guard(CheckRun& check) {
  if (g_hole) throw lab::NotDone(*g_hole);
  std::string problem;
  const os::TempFolder folder;
  const auto loads = folder.path() / "loads";
  os::write_file(loads, "");
  ::setenv(kLoads, loads.c_str(), 1);
  try {
    for (const mp::StartMethod method : {mp::StartMethod::kForkServer, mp::StartMethod::kSpawn}) {
      mp::Process process = by(method, nothing);
      process.start();
      process.join(Deadline::never());
    }
  } catch (const ContractError& error) {
    problem = error.what();
  }
  ::unsetenv(kLoads);
  check.require(problem.empty(), "L02-NO-INIT", [&] { return problem; });
  const std::string again = os::read_file(loads);
  check.require(again.empty(), "L02-LOADED-AGAIN", [&] {
    return fmt::format("load() ran again in process {}", again.substr(0, again.find('\n')));
  });
  check.require(g_loads == 1, "L02-NOT-LOADED", [] {
    return fmt::format("load() was called {} times in the first process", g_loads);
  });
  check.proved("spawn and forkserver work, and load() ran in the first process alone");
}

std::string text_of(const Sight& sight) {
  std::vector<std::string> seen;
  if (sight.global) seen.emplace_back("global");
  if (sight.thread) seen.emplace_back("thread");
  if (sight.descriptor) seen.emplace_back("descriptor");
  if (sight.lock_held) seen.emplace_back("lock_held");
  if (sight.random) seen.emplace_back("random");
  if (sight.environment) seen.emplace_back("environment");
  return seen.empty() ? "nothing" : fmt::format("{}", fmt::join(seen, ", "));
}

Sight truth(mp::StartMethod method) {
  mp::SimpleQueue<Sight> found;
  mp::Process process(mp::ProcessOptions{.start_method = method}, look, found);
  process.start();
  const Sight sight = found.get(Deadline::never()).value();
  process.join(Deadline::never());
  return sight;
}

void table(CheckRun& check) {
  const Parent parent(check.seed());
  for (const mp::StartMethod method : kMethods) {
    const Sight wanted = truth(method);
    const Sight predicted = predict(method);
    check.require(predicted == wanted, "L02-PREDICTION", [&] {
      return fmt::format("by {} a child finds: {}\npredicted: {}", mp::name_of(method),
                         text_of(wanted), text_of(predicted));
    });
    const Sight measured = measure(method);
    check.require(measured == wanted, "L02-NOT-THAT-METHOD", [&] {
      return fmt::format("measure({}) found: {}\na child by {} finds: {}", mp::name_of(method),
                         text_of(measured), mp::name_of(method), text_of(wanted));
    });
    check.require(os::child_pids().size() <= 1, "L02-NOT-JOINED", [&] {  // the fork server stays
      return fmt::format("after measure these are left: {}", fmt::join(os::child_pids(), " "));
    });
  }
  check.proved("the table is right for fork, spawn and forkserver, as predicted and as measured");
}

void scaling(CheckRun& check) {
  const Parent parent(check.seed());
  const double factor = 0.5 + static_cast<double>(check.seed() % 97);
  for (const mp::StartMethod method : kMethods) {
    mp::SimpleQueue<double> in;
    mp::SimpleQueue<double> out;
    mp::Process process = start_scaling(method, factor, in, out);
    for (const double number : {3.0, 0.25, -1.0}) in.put(number, Deadline::never());
    const bool copied = out.get(Deadline::never()).value() != 0;
    check.require(copied == (method == mp::StartMethod::kFork), "L02-NOT-THAT-METHOD", [&] {
      return fmt::format("process {} was to be started by {}, and {} a copy of this one's memory",
                         process.pid(), mp::name_of(method), copied ? "has" : "has no");
    });
    for (const double number : {3.0, 0.25}) {
      const double got = out.get(Deadline::never()).value();
      check.require(got == factor * number, "L02-SCALED", [&] {
        return fmt::format("{} times {} is {}; process {} says {}", factor, number, factor * number,
                           process.pid(), got);
      });
    }
    process.join(Deadline::never());
  }
  check.proved("a function and its arguments travelled by all three");
}

void log_file(CheckRun& check) {
  const os::TempFolder folder;
  const auto path = folder.path() / "train.log";
  const os::UniqueFd log = open_log(path);
  check.require(log && has_open(path.string()), "L02-NOT-OPEN",
                [&] { return fmt::format("open_log did not open {}", path.string()); });
  const std::string look_for = fmt::format("[ -e /proc/self/fd/{} ]", log.get());
  os::Process program = os::spawn_process("/bin/sh", {.argv = {"sh", "-c", look_for},
                                                      .env = os::environment(),
                                                      .descriptors = {},
                                                      .new_group = os::NewGroup::kNo});
  const os::ExitStatus status = program.wait(Deadline::never()).value();
  check.require(!status.success(), "L02-LEAKED-DESCRIPTOR", [&] {
    return fmt::format(
        "a shell that this process started (process {}) has {} open as descriptor {}",
        program.pid(), path.string(), log.get());
  });
  check.proved("a program that was started has none of the files that its parent opened");
}

}  // namespace
}  // namespace lab02

int main(int argc, char** argv) {
  try {
    lab02::start_up(argc, argv);
  } catch (const plab::lab::NotDone& hole) {
    lab02::g_hole = hole.todo();
  }
  static constexpr std::array kCases{
      plab::lab::CheckCase{"main is ready for spawn", lab02::guard, 3},
      plab::lab::CheckCase{"what a child finds", lab02::table, 9},
      plab::lab::CheckCase{"what can travel", lab02::scaling, 9},
      plab::lab::CheckCase{"what another program has open", lab02::log_file, 2}};
  return plab::lab::run_checks(argc, argv, kCases);
}
