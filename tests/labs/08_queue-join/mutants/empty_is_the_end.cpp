// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 08: an empty queue is taken for the end
#include "08_queue-join/lab.hpp"

#include <utility>

#include "support/not_done.h"

namespace mp = plab::mp;
using plab::Deadline;

namespace lab08 {

void produce(int producer, Job job) {
  for (int number = 0; number < job.count; ++number) {
    Item item = make_item(job, producer, number);
    item.score = item.score.detach();
    job.queue.put(std::move(item), Deadline::never());
  }
  job.queue.put(end_mark(producer), Deadline::never());
}

std::vector<Item> drain(int producers, const Job& job) {
  std::vector<Item> items;
  mp::Queue<Item> queue = job.queue;
  do {
    Item item = queue.get(Deadline::never()).value();
    if (item.number != kEnd) items.push_back(std::move(item));
  } while (!queue.empty());
  return items;
}

std::vector<Item> run(int producers, const Job& job) {
  std::vector<mp::Process> processes;
  for (int producer = 0; producer < producers; ++producer) {
    processes.emplace_back(run_producer, producer, job);
    processes.back().start();
  }
  std::vector<Item> items = drain(producers, job);
  for (mp::Process& process : processes) process.join(Deadline::never());
  return items;
}

}  // namespace lab08
