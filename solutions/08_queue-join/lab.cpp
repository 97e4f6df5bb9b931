// SPDX-License-Identifier: Apache-2.0
// Lab 08: a queue and a join. The only file that you edit.
#include "08_queue-join/lab.hpp"

#include <utility>

#include "support/not_done.h"

namespace mp = plab::mp;
using plab::Deadline;

namespace lab08 {

void produce(int producer, Job job) {
  //! TODO(1): put every item, then the end mark. An item whose score requires a gradient can't be
  //! serialised, and Queue would only say so on standard error, later, from its thread: send the
  //! value without its history. All that was put is still written when this process ends.
  for (int number = 0; number < job.count; ++number) {
    Item item = make_item(job, producer, number);
    item.score = item.score.detach();
    job.queue.put(std::move(item), Deadline::never());
  }
  job.queue.put(end_mark(producer), Deadline::never());
  //! END
}

std::vector<Item> drain(int producers, const Job& job) {
  //! TODO(2): take items until every producer's end mark has come. That the queue is empty for a
  //! moment says nothing: the next item may be on its way.
  std::vector<Item> items;
  mp::Queue<Item> queue = job.queue;
  for (int left = producers; left > 0;) {
    Item item = queue.get(Deadline::never()).value();
    if (item.number == kEnd) {
      --left;
    } else {
      items.push_back(std::move(item));
    }
  }
  return items;
  //! END
}

std::vector<Item> run(int producers, const Job& job) {
  //! TODO(3): start the producers (run_producer), take all that they put, and join them. A producer
  //! can't end before the queue has taken all of its items, so the order of the last two matters.
  std::vector<mp::Process> processes;
  for (int producer = 0; producer < producers; ++producer) {
    processes.emplace_back(run_producer, producer, job);
    processes.back().start();
  }
  std::vector<Item> items = drain(producers, job);
  for (mp::Process& process : processes) process.join(Deadline::never());
  return items;
  //! END
}

}  // namespace lab08
