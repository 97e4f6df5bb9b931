// SPDX-License-Identifier: Apache-2.0
// The check of lab 07: the queue on the machine of model.h, and then between real processes.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "07_simple-queue/lab.hpp"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/os/process.h"
#include "support/check.h"
#include "tests/labs/07_simple-queue/model.h"

namespace lab07 {

using namespace plab;

namespace {

using lab::CheckRun;

Item make_item(std::uint64_t seed, int writer, std::uint64_t number) {
  std::mt19937_64 random(seed * 7919 + static_cast<std::uint64_t>(writer) * 104729 + number);
  Item item{writer, os::self_identity().pid, number, {}};
  for (auto& word : item.payload) word = random();
  return item;
}

void require_item(CheckRun& check, Item got, int writer, std::uint64_t number) {
  Item wanted = make_item(check.seed(), writer, number);
  wanted.pid = got.pid;
  check.require(got == wanted, "L07-ORDER", [&] {
    return fmt::format("message {} of writer {} is due; get gives message {} of writer {}{}",
                       number, writer, got.number, got.writer,
                       got.number == number ? " with other bytes" : "");
  });
}

void set_positions(Ring& ring, std::uint64_t start) {
  ring.tail.store(start);
  ring.head.store(start);
}

/// What the model found wrong, if anything.
void judge(CheckRun& check, const Model::Outcome& outcome) {
  check.require(outcome.code.empty(), outcome.code, [&] {
    return fmt::format("{}.\nthe last steps:\n{}", outcome.text, outcome.steps);
  });
}

void put_and_get(CheckRun& check, std::uint32_t capacity) {
  std::mt19937_64 random(check.seed() * 31 + capacity);
  Ring ring(capacity);
  set_positions(ring, random() % 1'000'000);
  std::uint64_t put_count = 0;
  std::uint64_t got_count = 0;
  const auto body = [&] {
    for (int round = 0; round < 40; ++round) {
      const std::uint64_t full = put_count - got_count;
      const std::uint64_t more = random() % (capacity - full + 1);
      for (std::uint64_t i = 0; i < more; ++i, ++put_count) {
        put(ring, make_item(check.seed(), 0, put_count));
      }
      const std::uint64_t less = random() % (put_count - got_count + 1);
      for (std::uint64_t i = 0; i < less; ++i, ++got_count) {
        require_item(check, get(ring), 0, got_count);
      }
    }
  };
  const Model::Outcome outcome = Model(ring, check.seed()).run({{"the only thread", body}});
  judge(check, outcome);
  check.require(!outcome.stuck, "L07-CAPACITY", [&] {
    return fmt::format(
        "{} messages were put and {} got, the capacity is {}: the next call sleeps\n"
        "the last steps:\n{}",
        put_count, got_count, capacity, outcome.steps);
  });
}

void full_and_empty(CheckRun& check, std::uint32_t capacity) {
  Ring ring(capacity);
  set_positions(ring, check.seed() % 1000);
  std::uint64_t done = 0;
  const auto fill = [&] {
    for (; done <= capacity; ++done) put(ring, make_item(check.seed(), 0, done));
  };
  Model::Outcome outcome = Model(ring, check.seed()).run({{"the writer", fill}});
  judge(check, outcome);
  check.require(outcome.stuck, "L07-OVERWRITTEN", [&] {
    return fmt::format("{} messages were put into a ring with {} slots", done, capacity);
  });
  check.require(done == capacity, "L07-CAPACITY", [&] {
    return fmt::format("put number {} sleeps; the capacity is {}", done + 1, capacity);
  });
  Ring empty(capacity);
  const auto take = [&] { (void)get(empty); };
  outcome = Model(empty, check.seed()).run({{"the reader", take}});
  judge(check, outcome);
  check.require(outcome.stuck, "L07-PUBLISHED-EARLY",
                [] { return std::string("get returned from an empty ring"); });
}

void alone(CheckRun& check) {
  for (const std::uint32_t capacity : {1U, 2U, 3U, 5U, 7U, 15U}) {
    put_and_get(check, capacity);
    full_and_empty(check, capacity);
  }
  check.proved(
      "rings of 1 to 15 slots, round and round: first in, first out, nothing lost; put "
      "number capacity + 1 sleeps");
}

/// A fault that some order of the steps shows. One mistake may show in several ways: what comes
/// first in this list explains those behind it.
constexpr std::array<std::string_view, 9> kCauses{
    "L07-WRITERS", "L07-SPINS",        "L07-WRAP",        "L07-PUBLISHED-EARLY", "L07-OVERWRITTEN",
    "L07-ORDER",   "L07-MEMORY-ORDER", "L07-LOST-WAKEUP", "L07-STRAY-PERMIT"};

struct Fault {
  std::size_t cause = kCauses.size();
  std::string seen;
};

Fault fault(std::string_view code, std::string seen) {
  const auto at = std::ranges::find(kCauses, code);
  return {static_cast<std::size_t>(at - kCauses.begin()), std::move(seen)};
}

std::vector<Model::Body> bodies_for(CheckRun& check, Ring& ring, int writers) {
  constexpr std::uint64_t kEach = 3;
  std::vector<Model::Body> bodies;
  for (int writer = 0; writer < writers; ++writer) {
    bodies.push_back({fmt::format("writer {}", writer), [&, writer] {
                        for (std::uint64_t i = 0; i < kEach; ++i) {
                          put(ring, make_item(check.seed(), writer, i));
                        }
                      }});
  }
  bodies.push_back({"reader", [&, writers] {
                      std::array<std::uint64_t, 2> due{};
                      for (int i = 0; i < writers * static_cast<int>(kEach); ++i) {
                        const Item item = get(ring);
                        const auto writer = static_cast<std::size_t>(item.writer);
                        require_item(check, item, item.writer, due.at(writer)++);
                      }
                    }});
  return bodies;
}

Fault run_order(CheckRun& check, std::uint64_t number) {
  const auto writers = static_cast<int>(1 + number % 2);
  Ring ring(static_cast<std::uint32_t>(1 + number % 3));
  set_positions(ring, number);
  const auto bodies = bodies_for(check, ring, writers);
  Model::Outcome outcome;
  try {
    outcome = Model(ring, check.seed() * 100'003 + number).run(bodies);
  } catch (const lab::CheckFailed& problem) {
    return fault(problem.code(), problem.what());
  }
  const auto seen = [&](std::string_view what) {
    return fmt::format("{}; messages in the ring: {} of {}\nthe last steps:\n{}", what,
                       ring.tail.load() - ring.head.load(), ring.capacity, outcome.steps);
  };
  if (!outcome.code.empty()) return fault(outcome.code, seen(outcome.text));
  if (outcome.stuck) return fault("L07-LOST-WAKEUP", seen("all who have not finished sleep"));
  if (outcome.permits > 0) {
    return fault("L07-STRAY-PERMIT", seen(fmt::format("{} permits are left", outcome.permits)));
  }
  return {};
}

constexpr std::uint64_t kSchedules = 500;

void together(CheckRun& check) {
  Fault worst;
  for (std::uint64_t number = 0; number < kSchedules; ++number) {
    Fault one = run_order(check, number);
    if (one.cause < worst.cause) worst = std::move(one);
  }
  const bool fine = worst.cause == kCauses.size();
  check.require(fine, fine ? "" : kCauses.at(worst.cause), [&] { return worst.seen; });
  check.proved(
      fmt::format("{} orders of the steps of reader and writers, on a memory weaker than "
                  "x86's: nobody sleeps through a message, every access to a slot is "
                  "ordered",
                  kSchedules));
}

constexpr std::uint64_t kStream = 400;

void write_stream(SharedRing ring, std::uint64_t seed, int writer) {
  for (std::uint64_t i = 0; i < kStream; ++i) put(*ring, make_item(seed, writer, i));
}

void streams(CheckRun& check) {
  constexpr int kWriters = 3;
  const SharedRing ring(static_cast<std::uint32_t>(1 + check.seed() % 7));
  set_positions(*ring, check.seed());
  std::vector<mp::Process> processes;
  for (int writer = 0; writer < kWriters; ++writer) {
    processes.emplace_back(write_stream, ring, check.seed(), writer);
    processes.back().start();
  }
  std::array<std::uint64_t, kWriters> due{};
  std::set<int> pids;
  for (std::uint64_t i = 0; i < kWriters * kStream; ++i) {
    const Item item = get(*ring);
    require_item(check, item, item.writer, due.at(static_cast<std::size_t>(item.writer))++);
    pids.insert(item.pid);
  }
  for (auto& process : processes) process.join(Deadline::never());
  check.require(pids.size() == kWriters, "L07-ORDER",
                [&] { return fmt::format("{} pids wrote", pids.size()); });
  check.proved(
      fmt::format("{} processes put {} messages each through {} slots: all arrived, each "
                  "writer's in its order",
                  kWriters, kStream, ring->capacity));
}

/// Processor time that a process has taken.
std::int64_t cpu_ns(int pid) {
  clockid_t clock{};
  std::timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    throw std::runtime_error(fmt::format("the processor time of process {} is not known", pid));
  }
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

void require_sleep(CheckRun& check, const Semaphore& bell, int pid, std::string_view what) {
  constexpr std::int64_t kMostBusy = 300'000'000;
  const std::int64_t start = cpu_ns(pid);
  const auto busy = [&](std::int64_t ns) {
    return fmt::format("process {} has to {}; it has computed for {} ms and does not sleep", pid,
                       what, ns / 1'000'000);
  };
  while (bell.waiting() == 0) {
    const std::int64_t taken = cpu_ns(pid) - start;
    check.require(taken < kMostBusy, "L07-SPINS", [&] { return busy(taken); });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The kernel may book what a process did before it slept a moment later: a second look, then.
  std::int64_t taken = 0;
  std::int64_t passed = 1;
  for (int look = 0; look < 4 && (look == 0 || taken * 20 >= passed); ++look) {
    const std::int64_t before = cpu_ns(pid);
    const std::int64_t from = monotonic_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    taken = cpu_ns(pid) - before;
    passed = monotonic_ns() - from;
  }
  check.require(taken * 20 < passed, "L07-SPINS", [&] { return busy(taken); });
  check.proved(fmt::format("a process that had to {} slept: {:.2f} ms of processor time in {} ms",
                           what, static_cast<double>(taken) / 1e6, passed / 1'000'000));
}

void get_one(SharedRing ring) { mp::exit_process(static_cast<int>(get(*ring).number)); }
void put_one(SharedRing ring, std::uint64_t seed, std::uint64_t number) {
  put(*ring, make_item(seed, 0, number));
}

void idle(CheckRun& check) {
  const SharedRing ring(static_cast<std::uint32_t>(2 + check.seed() % 5));
  mp::Process reader(get_one, ring);
  reader.start();
  require_sleep(check, ring->data, reader.pid(), "wait for a message");
  put(*ring, make_item(check.seed(), 0, 42));
  reader.join(Deadline::never());
  check.require(reader.exitcode() == 42, "L07-ORDER",
                [&] { return fmt::format("the reader ended with {}", *reader.exitcode()); });
  for (std::uint64_t i = 0; i < ring->capacity; ++i) put(*ring, make_item(check.seed(), 0, i));
  mp::Process writer(put_one, ring, check.seed(), std::uint64_t{ring->capacity});
  writer.start();
  require_sleep(check, ring->room, writer.pid(), "wait for room");
  for (std::uint64_t i = 0; i <= ring->capacity; ++i) require_item(check, get(*ring), 0, i);
  writer.join(Deadline::never());
}

}  // namespace
}  // namespace lab07

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"one thread that puts and gets in turn", lab07::alone, 100},
      plab::lab::CheckCase{"reader and writers in many orders of steps", lab07::together, 1000},
      plab::lab::CheckCase{"streams of several processes", lab07::streams, 1000},
      plab::lab::CheckCase{"who waits sleeps", lab07::idle, 5}};
  return plab::lab::run_checks(argc, argv, kCases);
}
