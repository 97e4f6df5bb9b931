// SPDX-License-Identifier: Apache-2.0
// The check of lab 03. Workers report by their exit code: what they find must not need a lock.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "03_fork-lock/lab.hpp"
#include "plab/mp/context.h"
#include "plab/mp/init.h"
#include "plab/mp/sync.h"
#include "plab/os/mapping.h"
#include "plab/os/thread.h"
#include "support/check.h"

namespace lab03 {

using namespace plab;

namespace {

enum Found : int { kFine = 0, kThreadAlive = 41, kTorn = 42, kInherited = 43 };

std::atomic<int> g_flushers{0};  // alive in this process; a forked child has a copy
std::atomic<int> g_marker{0};    // only this process's memory has it
std::atomic<std::int64_t> g_flushed{0};
std::jthread g_thread;
mp::Event* g_flush = nullptr;  // set with the first entry that the Flusher has written

void write_as(std::chrono::microseconds inside) {
  const shm::LockGuard guard(journal().lock, Deadline::never());
  ++journal().begun;
  if (inside.count() > 0) std::this_thread::sleep_for(inside);
  ++journal().written;
}

}  // namespace

Journal& journal() {
  static Journal one;
  return one;
}

void write_entry() { write_as(std::chrono::microseconds(0)); }

Flusher::Flusher() {
  ++g_flushers;
  g_thread = std::jthread([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      write_as(std::chrono::microseconds(700));
      ++g_flushed;
      if (g_flush != nullptr) g_flush->set();
      std::this_thread::yield();
    }
  });
}

Flusher::~Flusher() {
  g_thread = std::jthread();
  --g_flushers;
}

namespace {

using lab::CheckRun;

// Runs in the workers of all three cures.
int look() {
  const shm::LockGuard guard(journal().lock, Deadline::never());
  return journal().begun == journal().written ? kFine : kTorn;
}

void clean_work(int /*rank*/) {
  if (g_marker.load() != 0) mp::exit_process(kInherited);
  mp::exit_process(look());
}

void handled_work(int /*rank*/) {
  const int found = look();
  if (found == kFine) write_entry();
  mp::exit_process(found);
}

void judge(CheckRun& check, mp::Process& worker) {
  const int code = worker.exitcode().value();
  check.require(code != kTorn, "L03-TORN-STATE", [&] {
    return fmt::format("process {} got the lock, and found an entry that was begun and not written",
                       worker.pid());
  });
  check.require(code != -SIGABRT, "L03-FOREIGN-UNLOCK", [&] {
    return fmt::format(
        "process {} was ended by SIGABRT in its fork handler: it unlocked a lock that "
        "a thread of its parent holds",
        worker.pid());
  });
  check.require(code == kFine, "L03-CHILD-FAILED",
                [&] { return fmt::format("process {} ended with {}", worker.pid(), code); });
}

// Says by a file of its own what its workers found, because run_before_threads joins them itself.
std::array<std::atomic<int>, 8>* g_found = nullptr;

void order(CheckRun& check) {
  const os::Mapping shared = os::Mapping::anonymous(Bytes{sizeof *g_found});
  g_found = ::new (shared.data()) std::array<std::atomic<int>, 8>{};
  const int count = 2 + static_cast<int>(check.seed() % 3);
  const std::int64_t flushed = g_flushed.load();
  mp::Event flush;
  g_flush = &flush;
  run_before_threads(count, [](int rank) {
    const int alive = g_flushers.load();
    (void)g_flush->wait(Deadline::after(std::chrono::seconds(3)));
    (*g_found)[static_cast<std::size_t>(rank)] = 1 + (alive > 0 ? int{kThreadAlive} : look());
  });
  for (int rank = 0; rank < count; ++rank) {
    const int found = (*g_found)[static_cast<std::size_t>(rank)].load();
    check.require(found != 0, "L03-NOT-STARTED",
                  [&] { return fmt::format("rank {} of {} did not run to its end", rank, count); });
    check.require(found != 1 + kThreadAlive, "L03-THREAD-FIRST", [&] {
      return fmt::format("rank {} was forked while a Flusher was alive", rank);
    });
  }
  g_flush = nullptr;
  check.require(g_flushed.load() > flushed, "L03-NO-FLUSHER",
                [] { return std::string("no Flusher wrote an entry while the workers ran"); });
  check.proved(fmt::format("{} workers were forked before there was a second thread", count));
}

void clean(CheckRun& check) {
  const Flusher flusher;
  g_marker = 1 + static_cast<int>(check.seed() % 1000);
  for (int rank = 0; rank < 3; ++rank) {
    mp::Process worker = start_clean_worker(clean_work, rank);
    worker.join(Deadline::never());
    check.require(worker.exitcode() != kInherited, "L03-NOT-SPAWNED", [&] {
      return fmt::format("process {} has a copy of this process's memory", worker.pid());
    });
    judge(check, worker);
  }
  check.proved("3 workers started beside the Flusher had nothing of this process's memory");
}

void handlers(CheckRun& check) {
  constexpr int kForks = 40;
  static const bool installed = (install_fork_handlers(), true);  // they stay for good
  (void)installed;
  const Flusher flusher;
  int held = 0;
  for (int i = 0; i < kForks; ++i) {
    // The proof that the hazard is there: the flusher has the lock now, or had it a moment ago.
    const Deadline soon = Deadline::after(std::chrono::seconds(1));
    while (journal().lock.owner().pid == 0 && !soon.expired()) std::this_thread::yield();
    if (!soon.expired()) ++held;
    mp::Process worker(mp::ProcessOptions{.start_method = mp::StartMethod::kFork}, handled_work, i);
    worker.start();
    worker.join(Deadline::never());
    judge(check, worker);
  }
  if (held < kForks / 4) {
    throw std::logic_error("the flusher held the lock too seldom: the check proves nothing");
  }
  const bool kept = journal().lock.owner().tid == os::current_tid();
  if (kept) journal().lock.unlock();  // or the Flusher never ends
  check.require(!kept, "L03-PARENT-STUCK", [] {
    return fmt::format("thread {} still holds the journal's lock after the fork",
                       os::current_tid());
  });
  write_entry();
  check.require(look() == kFine, "L03-TORN-STATE",
                [] { return std::string("the parent's own journal is torn"); });
  check.proved(
      fmt::format("{} forks beside the Flusher, the lock held at {} of them: every child got "
                  "it, and found the journal whole",
                  kForks, held));
}

}  // namespace
}  // namespace lab03

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"workers are forked before there are threads", lab03::order, 5},
      plab::lab::CheckCase{"a clean worker has no copy of anything", lab03::clean, 12},
      plab::lab::CheckCase{"fork handlers leave the lock free and the journal whole",
                           lab03::handlers, 121}};
  return plab::lab::run_checks(argc, argv, kCases);
}
