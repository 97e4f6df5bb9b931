// SPDX-License-Identifier: Apache-2.0
// One parent, three start methods: what does a child find of it?
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "plab/mp/context.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/shm/mutex.h"

using namespace plab;

namespace {

std::atomic<int> g_setting{0};
std::atomic<bool> g_thread_runs{false};
std::mt19937 g_random(1);  // NOLINT(cert-msc51-cpp): a fresh program is to have the same one

shm::Mutex& own_lock() {
  static shm::Mutex lock;
  return lock;
}

constexpr std::array<const char*, 6> kRows{
    "a global that was set to 7", "a second thread",        "an open file",
    "a lock that is held",        "the next random number", "a variable of setenv"};

void look(int open_file, mp::SimpleQueue<std::string> found) {
  const bool thread_was_running = g_thread_runs.exchange(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a thread would set it again
  const char* const variable = std::getenv("LAB02_DEMO");
  found.put(std::to_string(g_setting), Deadline::never());
  found.put(thread_was_running && g_thread_runs ? "runs" : "-", Deadline::never());
  found.put(::fcntl(open_file, F_GETFD) >= 0 ? "open" : "-", Deadline::never());
  found.put(own_lock().owner().pid != 0 ? "held" : "free", Deadline::never());
  found.put(std::to_string(g_random() % 1000), Deadline::never());
  found.put(variable == nullptr ? "-" : variable, Deadline::never());
}

std::array<std::string, 6> seen_by(mp::StartMethod method, int open_file) {
  mp::SimpleQueue<std::string> found;
  mp::Process child(
      mp::ProcessOptions{.name = std::string(mp::name_of(method)), .start_method = method}, look,
      open_file, found);
  child.start();
  std::array<std::string, 6> seen;
  for (std::string& one : seen) one = found.get(Deadline::never()).value();
  child.join(Deadline::never());
  return seen;
}

void nothing() {}

void start_fork_server() {
  mp::Process first(mp::ProcessOptions{.start_method = mp::StartMethod::kForkServer}, nothing);
  first.start();
  first.join(Deadline::never());
}

}  // namespace

int main(int argc, char** argv) {
  mp::init(argc, argv);
  start_fork_server();  // before this process has anything of the table
  g_setting = 7;
  g_random.seed(99);
  ::setenv("LAB02_DEMO", "set", 1);
  const int open_file = ::fcntl(::open("/dev/null", O_RDONLY | O_CLOEXEC), F_DUPFD_CLOEXEC, 100);
  std::atomic<bool> ready{false};
  const std::jthread thread([&](const std::stop_token& stop) {
    const shm::LockGuard guard(own_lock(), Deadline::never());
    while (!stop.stop_requested()) {
      g_thread_runs = true;
      ready = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  while (!ready) std::this_thread::yield();
  const auto fork = seen_by(mp::StartMethod::kFork, open_file);
  const auto spawn = seen_by(mp::StartMethod::kSpawn, open_file);
  const auto server = seen_by(mp::StartMethod::kForkServer, open_file);
  fmt::print("{:<28}{:<10}{:<10}{:<10}\n", "a child finds, by", "fork", "spawn", "forkserver");
  for (std::size_t row = 0; row < kRows.size(); ++row) {
    fmt::print("{:<28}{:<10}{:<10}{:<10}\n", kRows[row], fork[row], spawn[row], server[row]);
  }
  fmt::print("this process's own next random number is {}\n", g_random() % 1000);
}
