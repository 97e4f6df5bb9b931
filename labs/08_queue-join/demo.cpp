// SPDX-License-Identifier: Apache-2.0
// Four ways to end a queue: an item that is lost, the same item where the caller is told, a process
// that drops what it has put, and at last a join before the queue is drained, which never ends. The
// lab tool proves that and ends it.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "plab/base/error.h"
#include "plab/base/timeline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/queue.h"
#include "plab/mp/simple_queue.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/tensor.h"

using namespace plab;

namespace {

constexpr int kMessages = 200;
constexpr std::size_t kLength = 1000;

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

Tensor computed() {
  const Tensor parameter = Tensor::ones({1}).requires_grad_();
  return mul(parameter, Tensor::full({1}, 3));
}

void lost_in_the_thread() {
  say("1. a Queue gets a non-leaf tensor that requires a gradient: put says nothing");
  mp::Queue<Tensor> queue;
  queue.put(computed(), Deadline::never());
  queue.put(Tensor::ones({1}), Deadline::never());
  const Tensor arrived = queue.get(Deadline::never()).value();
  say(fmt::format("   the first that arrives is {}; lost: {}", arrived.item<float>(),
                  queue.errors()));
}

void told_at_once() {
  say("2. a SimpleQueue gets it");
  mp::SimpleQueue<Tensor> queue;
  try {
    queue.put(computed(), Deadline::never());
  } catch (const ContractError& error) {
    say(fmt::format("   put throws: {:.60}...", error.what()));
  }
}

void put_many(mp::Queue<std::string> queue) {
  const timeline::Span span("put");
  for (int i = 0; i < kMessages; ++i) queue.put(std::string(kLength, 'x'), Deadline::never());
}

void put_many_and_go(mp::Queue<std::string> queue) {
  queue.cancel_join_thread();
  put_many(std::move(queue));
}

void dropped_at_exit() {
  say("3. a producer that has called cancel_join_thread");
  mp::Queue<std::string> queue;
  mp::Process producer(mp::ProcessOptions{.name = "dropping producer"}, put_many_and_go, queue);
  producer.start();
  producer.join(Deadline::never());
  int arrived = 0;
  while (queue.get_nowait()) ++arrived;
  say(fmt::format("   it has put {} messages and ended; {} of them can be read", kMessages,
                  arrived));
}

void join_before_drain() {
  say("4. a producer of 200 kB is joined before its queue of 64 KiB is drained");
  mp::Queue<std::string> queue;
  mp::Process producer(mp::ProcessOptions{.name = "producer"}, put_many, queue);
  producer.start();
  producer.join(Deadline::never());
  while (queue.get_nowait()) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  mp::init(argc, argv);
  lost_in_the_thread();
  told_at_once();
  dropped_at_exit();
  join_before_drain();
}
