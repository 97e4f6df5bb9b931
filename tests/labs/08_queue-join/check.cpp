// SPDX-License-Identifier: Apache-2.0
// The check of lab 08: the learner's producer with a consumer of the check's own, the learner's
// consumer with producers of its own, then both.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "08_queue-join/lab.hpp"
#include "plab/base/error.h"
#include "plab/mp/init.h"
#include "plab/os/file.h"
#include "plab/os/process.h"
#include "plab/tensor/ops.h"
#include "support/check.h"

namespace lab08 {

using namespace plab;

namespace {

using lab::CheckRun;

constexpr Bytes kRing{std::size_t{8} << 10U};

std::mt19937_64 random_of(const Job& job, int producer, int number) {
  return std::mt19937_64(job.seed * 1009 + static_cast<unsigned>(producer) * 101U +
                         static_cast<unsigned>(number));
}

std::string text_of(const Job& job, int producer, int number) {
  auto random = random_of(job, producer, number);
  std::string text(random() % 4000, ' ');
  for (char& c : text) c = static_cast<char>('!' + random() % 90);
  return text;
}

float score_of(const Job& job, int producer, int number) {
  auto random = random_of(job, producer, number);
  return static_cast<float>(random() % 10'000);
}

/// Two of three.
bool has_history(const Job& job, int number) {
  return (job.seed + static_cast<unsigned>(number)) % 3 != 0;
}

}  // namespace

Item make_item(const Job& job, int producer, int number) {
  const Tensor value = Tensor::full({1}, score_of(job, producer, number));
  Item item{producer, number, text_of(job, producer, number), value};
  if (has_history(job, number)) {
    const Tensor parameter = Tensor::ones({1}).requires_grad_();
    item.score = mul(parameter, value);
  }
  if (number + 1 == job.count) {
    mp::Event made = job.made[static_cast<std::size_t>(producer)];
    made.set();
  }
  return item;
}

Item end_mark(int producer) { return {producer, kEnd, "", Tensor()}; }

void run_producer(int producer, Job job) {
  produce(producer, job);
  // Who is not joined is ended by the destructor of its Process, and does not come to this line.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  job.finished.release();
}

namespace {

Job make_job(CheckRun& check, int producers) {
  Job job;
  job.queue = mp::Queue<Item>(0, kRing);
  job.count = 40 + static_cast<int>(check.seed() % 20);
  job.seed = check.seed();
  job.made.resize(static_cast<std::size_t>(producers));
  return job;
}

/// 'S' asleep, 'R' running, 'Z' ended and not waited for; 0: not there.
char state_of(int pid) {
  try {
    const std::string stat = os::read_file(fmt::format("/proc/{}/stat", pid));
    return stat.at(stat.rfind(')') + 2);
  } catch (const std::exception&) {
    return 0;
  }
}

/// Until the process has ended, or its first thread sleeps for good: it waits for its feeder.
void wait_for_rest(mp::Process& process) {
  constexpr int kLooks = 12;
  for (int asleep = 0; asleep < kLooks && process.is_alive();) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    asleep = state_of(process.pid()) == 'S' ? asleep + 1 : 0;
  }
}

/// By producer, the numbers that came, in their order.
using Arrived = std::map<int, std::vector<int>>;

void require_values(CheckRun& check, const Job& job, const std::vector<Item>& items) {
  for (const Item& item : items) {
    check.require(item.text == text_of(job, item.producer, item.number) && item.score.defined() &&
                      item.score.item<float>() == score_of(job, item.producer, item.number),
                  "L08-OTHER-VALUE", [&] {
                    return fmt::format("item {} of producer {} is not what make_item made",
                                       item.number, item.producer);
                  });
  }
}

/// All numbers of all producers, once each and in order.
void require_all(CheckRun& check, const Job& job, const std::vector<Item>& items,
                 const std::string& code, bool of_learner) {
  Arrived arrived;
  for (const Item& item : items) arrived[item.producer].push_back(item.number);
  for (int producer = 0; producer < static_cast<int>(job.made.size()); ++producer) {
    const std::vector<int>& numbers = arrived[producer];
    std::vector<int> missing;
    for (int number = 0; number < job.count; ++number) {
      if (std::ranges::find(numbers, number) == numbers.end()) missing.push_back(number);
    }
    const bool only_with_history = of_learner && std::ranges::all_of(missing, [&](int number) {
                                     return has_history(job, number);
                                   });
    check.require(missing.empty() || !only_with_history, "L08-UNSENDABLE", [&] {
      return fmt::format(
          "of {} items of producer {} these {} never came, and each has a score that "
          "requires a gradient: {}",
          job.count, producer, missing.size(), fmt::join(missing, " "));
    });
    check.require(missing.empty(), code, [&] {
      return fmt::format("of {} items of producer {} only {} came; the first that is missing is {}",
                         job.count, producer, numbers.size(), missing.front());
    });
    check.require(
        std::ranges::is_sorted(numbers) && numbers.size() == static_cast<std::size_t>(job.count),
        "L08-ORDER", [&] {
          return fmt::format("the items of producer {} came in another order, or twice", producer);
        });
  }
}

/// Nothing: there is none now, or its producer ended in the middle of it.
std::optional<Item> next_item(Job& job, bool lives) {
  try {
    return job.queue.get(Deadline::after(std::chrono::milliseconds(lives ? 20 : 0)));
  } catch (const PeerDied&) {
    return std::nullopt;
  }
}

void producer_side(CheckRun& check) {
  Job job = make_job(check, 1);
  mp::Process process(mp::ProcessOptions{.print_errors = mp::PrintErrors::kNo}, produce, 0, job);
  process.start();
  while (!job.made[0].wait(Deadline::after(std::chrono::milliseconds(5))) && process.is_alive()) {
  }
  wait_for_rest(process);  // a producer that drops the rest has ended by now
  std::vector<Item> items;
  std::size_t bytes = 0;
  int marks = 0;
  // What a living producer has put may be on its way; what a dead one has left is there.
  for (bool lives = true; lives;) {
    lives = !process.join(Deadline::passed());
    while (auto item = next_item(job, lives)) {
      bytes += item->text.size();
      if (item->number == kEnd) {
        ++marks;
      } else {
        items.push_back(std::move(*item));
      }
    }
  }
  lab::pass_on_not_done(process);
  check.require(process.exitcode() == 0, "L08-PRODUCER-FAILED", [&] {
    const auto error = process.error();
    return fmt::format("the producer {} ended with {}: {}", process.pid(), *process.exitcode(),
                       error ? error->message() : "no exception");
  });
  require_values(check, job, items);
  require_all(check, job, items, "L08-LOST-AT-EXIT", true);
  check.require(marks == 1, "L08-NO-END", [&] {
    return fmt::format("the producer put {} items and {} end marks", items.size(), marks);
  });
  check.proved(
      fmt::format("a producer that nobody read from kept {} items, {} bytes, through a "
                  "queue of {} bytes, until they were taken",
                  items.size(), bytes, kRing.count));
}

/// Puts half, waits until all of that is taken and the taker sleeps, puts the rest.
void slow_producer(int producer, Job job, int consumer) {
  for (int number = 0; number < job.count; ++number) {
    if (number == job.count / 2) {
      while (job.queue.qsize() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (int asleep = 0; asleep < 5 && state_of(consumer) != 0;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        asleep = state_of(consumer) == 'S' ? asleep + 1 : 0;
      }
    }
    Item item = make_item(job, producer, number);
    item.score = item.score.detach();
    job.queue.put(std::move(item), Deadline::never());
  }
  job.queue.put(end_mark(producer), Deadline::never());
}

void consumer_side(CheckRun& check) {
  const int producers = 2 + static_cast<int>(check.seed() % 2);
  const Job job = make_job(check, producers);
  std::vector<mp::Process> processes;
  for (int producer = 0; producer < producers; ++producer) {
    processes.emplace_back(slow_producer, producer, job, os::self_identity().pid);
    processes.back().start();
  }
  const std::vector<Item> items = drain(producers, job);
  mp::Queue<Item> queue = job.queue;
  for (mp::Process& process : processes) {  // whatever drain has left behind must not stop them
    while (!process.join(Deadline::passed())) {
      (void)queue.get(Deadline::after(std::chrono::milliseconds(5)));
    }
  }
  const auto marks = std::ranges::count(items, kEnd, &Item::number);
  check.require(marks == 0, "L08-MARKS-RETURNED",
                [&] { return fmt::format("drain returned {} end marks as items", marks); });
  require_values(check, job, items);
  require_all(check, job, items, "L08-ENDED-EARLY", false);
  check.proved(
      fmt::format("{} items of {} producers were taken, though the queue was empty in the "
                  "middle",
                  items.size(), producers));
}

void both(CheckRun& check) {
  const int producers = 2 + static_cast<int>(check.seed() % 3);
  const Job job = make_job(check, producers);
  const std::vector<Item> items = run(producers, job);
  const auto finished = static_cast<int>(job.finished.value());
  check.require(finished == producers, "L08-NOT-JOINED", [&] {
    return fmt::format("run has returned, and of {} producers {} had come to their end", producers,
                       finished);
  });
  require_values(check, job, items);
  require_all(check, job, items, "L08-LOST-AT-EXIT", true);
}

}  // namespace
}  // namespace lab08

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"a producer's end loses nothing", lab08::producer_side, 45},
      plab::lab::CheckCase{"a consumer goes on until the last end mark", lab08::consumer_side, 80},
      plab::lab::CheckCase{"all is taken, then the producers are joined", lab08::both, 80}};
  return plab::lab::run_checks(argc, argv, kCases);
}
