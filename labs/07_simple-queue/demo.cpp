// SPDX-License-Identifier: Apache-2.0
// What waiting costs, and how a wake-up is lost: a reader that spins, one that sleeps, and one that
// looks, finds nothing, and goes to sleep a moment too late. Gates make the moment certain.
#include <fmt/format.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "plab/base/timeline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/sync.h"
#include "plab/shm/shared.h"

namespace demo07 {

using namespace plab;

constexpr std::chrono::milliseconds kIdle{200};

/// A queue without its messages: how many were put, and whether the reader sleeps.
struct Shared {
  std::atomic<std::uint64_t> tail{0};
  std::atomic<std::uint32_t> reader_asleep{0};
};

using Queue = shm::Shared<Shared>;

void spin(Queue queue) {
  const timeline::Span span("spins");
  while (queue->tail.load() == 0) {
  }
}

void sleep(mp::Semaphore bell) {
  const timeline::Span span("sleeps");
  (void)bell.acquire(Deadline::never());
}

double cpu_ms(int pid) {
  clockid_t clock{};
  std::timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

void show_idle(const char* how, mp::Process& reader) {
  reader.start();
  const double before = cpu_ms(reader.pid());
  std::this_thread::sleep_for(kIdle);
  fmt::print("  {} ms without a message: a reader that {} takes {:.1f} ms of a core\n",
             kIdle.count(), how, cpu_ms(reader.pid()) - before);
  std::fflush(stdout);
}

void what_idle_costs() {
  fmt::print("1. waiting\n");
  const Queue queue = Queue::create();
  mp::Process spinner(mp::kForkOnly, mp::ProcessOptions{.name = "spinner"}, spin, queue);
  show_idle("spins", spinner);
  queue->tail.store(1);
  spinner.join(Deadline::never());
  mp::Semaphore bell(0);
  mp::Process sleeper(mp::ProcessOptions{.name = "sleeper"}, sleep, bell);
  show_idle("sleeps", sleeper);
  bell.release();
  sleeper.join(Deadline::never());
}

void read_too_late(Queue queue, mp::Semaphore bell, mp::Event looked, mp::Event put) {
  if (queue->tail.load() == 0) {
    timeline::record({.kind = timeline::Kind::kMark, .label = "looked: empty"});
    looked.set();                       // in real life: just here another process
    (void)put.wait(Deadline::never());  // gets the core, and puts its message
    queue->reader_asleep.store(1);
    (void)bell.acquire(Deadline::never());
  }
}

void lose_a_wakeup() {
  fmt::print("2. look, then sleep\n");
  std::fflush(stdout);
  const Queue queue = Queue::create();
  mp::Semaphore bell(0);
  mp::Event looked;
  mp::Event put;
  mp::Process reader(mp::kForkOnly, mp::ProcessOptions{.name = "reader"}, read_too_late, queue,
                     bell, looked, put);
  reader.start();
  (void)looked.wait(Deadline::never());
  queue->tail.store(1);
  timeline::record({.kind = timeline::Kind::kMark, .label = "put; nobody is asleep"});
  if (queue->reader_asleep.load() == 1) bell.release();
  fmt::print("  one message is in the queue, and the reader was not asleep: nothing to wake\n");
  std::fflush(stdout);
  put.set();
  reader.join(Deadline::never());
}

}  // namespace demo07

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  demo07::what_idle_costs();
  demo07::lose_a_wakeup();
}
