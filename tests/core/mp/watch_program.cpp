// SPDX-License-Identifier: Apache-2.0
// watch_program NAME [SEED]: a program with the deadlock of that name, or a healthy one. Run by
// watch_test.
#include <sys/prctl.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "plab/mp/connection.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/queue.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/spawn.h"
#include "plab/mp/sync.h"
#include "plab/shm/mutex.h"

using namespace plab;
using namespace std::chrono_literals;

namespace {

const Deadline kNever = Deadline::never();
using Page = std::array<char, 4096>;

template <typename Body>
mp::Process forked(const std::string& name, Body body) {
  mp::Process process(mp::kForkOnly, mp::ProcessOptions{.name = name}, std::move(body));
  process.start();
  return process;
}

void join_all(std::vector<mp::Process>& processes) {
  for (auto& process : processes) process.join(kNever);
}

// Each of `count` takes its own lock and then the next one's.
void lock_ring(int count) {
  std::vector<mp::Lock> locks(static_cast<std::size_t>(count));
  mp::Barrier all(static_cast<std::uint32_t>(count));
  std::vector<mp::Process> processes;
  for (int rank = 0; rank < count; ++rank) {
    processes.push_back(forked("rank " + std::to_string(rank), [&, rank] {
      (void)locks[static_cast<std::size_t>(rank)].acquire(kNever);
      (void)all.wait(kNever);
      (void)locks[static_cast<std::size_t>((rank + 1) % count)].acquire(kNever);
    }));
  }
  join_all(processes);
}

void two_threads() {
  mp::Lock a;
  mp::Lock b;
  mp::Barrier both(2);
  const auto take = [&](mp::Lock& first, mp::Lock& second) {
    (void)first.acquire(kNever);
    (void)both.wait(kNever);
    (void)second.acquire(kNever);
  };
  std::jthread other([&] { take(b, a); });
  take(a, b);
}

void join_before_get() {
  mp::SimpleQueue<Page> queue(Bytes{16'384});
  auto writer = forked("writer", [&] {
    for (int i = 0; i < 100; ++i) queue.put(Page{}, kNever);
  });
  writer.join(kNever);
}

void join_before_get_with_feeder() {
  mp::Queue<Page> queue(0, Bytes{16'384});
  auto writer = forked("writer", [&] {
    for (int i = 0; i < 100; ++i) queue.put(Page{}, kNever);
  });
  writer.join(kNever);
}

void both_queues(bool fill) {
  mp::SimpleQueue<Page> there(Bytes{8'192});
  mp::SimpleQueue<Page> back(Bytes{8'192});
  std::vector<mp::Process> processes;
  const auto talk = [fill](mp::SimpleQueue<Page>& out, mp::SimpleQueue<Page>& in) {
    for (int i = 0; fill && i < 100; ++i) out.put(Page{}, kNever);
    (void)in.get(kNever);
  };
  processes.push_back(forked("left", [&] { talk(there, back); }));
  processes.push_back(forked("right", [&] { talk(back, there); }));
  join_all(processes);
}

// In this process's own memory, so fork copies it.
shm::Mutex& journal() {
  static shm::Mutex mutex;
  return mutex;
}

void fork_copies_a_lock() {
  mp::Event held;
  mp::Event over;
  std::jthread flusher([&] {
    const shm::LockGuard guard(journal(), kNever);
    held.set();
    (void)over.wait(kNever);
  });
  (void)held.wait(kNever);
  auto child = forked("child", [] { const shm::LockGuard guard(journal(), kNever); });
  child.join(kNever);
}

void read_own_queue() {
  mp::SimpleQueue<int> queue;
  (void)queue.get(kNever);
}

void writer_was_killed() {
  mp::SimpleQueue<int> queue;
  mp::Event ready;
  {
    auto writer = forked("writer", [&] {
      ready.set();
      for (;;) std::this_thread::sleep_for(1h);
    });
    (void)ready.wait(kNever);
    writer.kill();
    writer.join(kNever);
  }
  (void)queue.get(kNever);
}

void both_receive() {
  auto [left, right] = mp::Pipe();
  std::vector<mp::Process> processes;
  processes.push_back(forked("left", [&left = left] { (void)left.recv<int>(kNever); }));
  processes.push_back(forked("right", [&right = right] { (void)right.recv<int>(kNever); }));
  join_all(processes);
}

void event_is_never_set() {
  mp::Event event;
  auto child = forked("child", [&] { (void)event.wait(kNever); });
  child.join(kNever);
}

// --- healthy ------------------------------------------------------------------------------------

class Pauses {
 public:
  explicit Pauses(std::uint64_t seed) : random_(seed) {}
  // Mostly none, now and then longer than a verdict takes.
  void pause() {
    const auto n = random_() % 100;
    if (n < 20) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 3000));
    if (n == 99) std::this_thread::sleep_for(std::chrono::milliseconds(150 + random_() % 250));
  }
  std::uint64_t operator()() { return random_(); }

 private:
  std::mt19937_64 random_;
};

void work(std::uint64_t seed, mp::SimpleQueue<int>& tasks, mp::Queue<int>& results, mp::Lock& a,
          mp::Lock& b) {
  Pauses pauses(seed);
  for (;;) {
    const auto task = tasks.get(pauses() % 4 == 0 ? Deadline::after(2ms) : kNever);
    if (!task) continue;
    if (*task < 0) return;
    {
      const mp::Guard first(a, kNever);
      const mp::Guard second(b, kNever);
      pauses.pause();
    }
    results.put(*task, kNever);
  }
}

int healthy(std::uint64_t seed) {
  Pauses pauses(seed);
  const int workers = 1 + static_cast<int>(pauses() % 3);
  const int count = 20 + static_cast<int>(pauses() % 40);
  mp::SimpleQueue<int> tasks(Bytes{4'096});
  mp::Queue<int> results(static_cast<std::int64_t>(pauses() % 5));
  mp::Lock a;
  mp::Lock b;
  std::vector<mp::Process> processes;
  for (int rank = 0; rank < workers; ++rank) {
    const std::uint64_t own = pauses();
    processes.push_back(
        forked("rank " + std::to_string(rank), [&, own] { work(own, tasks, results, a, b); }));
  }
  std::jthread giver([&, own = pauses()] {
    Pauses his(own);
    for (int i = 0; i < count; ++i) {
      his.pause();
      tasks.put(i, kNever);
    }
    for (int i = 0; i < workers; ++i) tasks.put(-1, kNever);
  });
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    pauses.pause();
    sum += *results.get(kNever);
  }
  giver.join();
  join_all(processes);
  return sum == std::int64_t{count} * (count - 1) / 2 ? 0 : 1;
}

// All of them look for the memory of their arguments at the same moment, under one lock.
int spawn_many() {
  for (int round = 0; round < 12; ++round) {
    const mp::Barrier all(6);
    const mp::SimpleQueue<int> queue;
    mp::spawn(
        [](int rank, mp::Barrier barrier, mp::SimpleQueue<int> out) {
          (void)barrier.wait(kNever);
          out.put(rank, kNever);
        },
        std::tuple(all, queue), 6);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  mp::init(argc, argv);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "healthy") return healthy(std::strtoull(argv[2], nullptr, 10));
  if (name == "spawn-many") return spawn_many();
  if (name == "two-locks") lock_ring(2);
  if (name == "three-locks") lock_ring(3);
  if (name == "two-threads") two_threads();
  if (name == "join-before-get") join_before_get();
  if (name == "join-before-get-feeder") join_before_get_with_feeder();
  if (name == "full-queues") both_queues(true);
  if (name == "empty-queues") both_queues(false);
  if (name == "fork-copies-a-lock") fork_copies_a_lock();
  if (name == "own-queue") read_own_queue();
  if (name == "killed-writer") writer_was_killed();
  if (name == "both-receive") both_receive();
  if (name == "event") event_is_never_set();
  std::fprintf(stderr, "watch_program: %s is over\n", name.c_str());
  return 2;
}
