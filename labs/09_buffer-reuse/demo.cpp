// SPDX-License-Identifier: Apache-2.0
// A stream of batches three ways: new memory for each one, a few buffers that come back, and a few
// buffers that the producer takes without asking. The last one never waits, and is wrong.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <set>
#include <vector>

#include "plab/base/timeline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/sync.h"
#include "plab/tensor/ops.h"
#include "plab/tensor/tensor.h"

namespace demo09 {

using namespace plab;

constexpr std::int64_t kElements = 256 * 1024;  // 1 MiB of f32
constexpr int kBatches = 60;
constexpr int kBuffers = 3;

using Queue = mp::SimpleQueue<Tensor>;

/// Adds up each batch; sends the tensor back.
void consume(Queue full, Queue free, int count) {
  for (int i = 0; i < count; ++i) {
    const Tensor batch = *full.get(Deadline::never());
    const timeline::Span span("use", static_cast<std::uint64_t>(i));
    (void)sum(batch);
    free.put(batch, Deadline::never());
  }
}

/// Memory is known by its block and its generation, which changes when it is given out anew.
std::pair<std::uint32_t, std::uint32_t> memory_of(const Tensor& tensor) {
  const shm::Handle handle = tensor.storage().block().handle();
  return {handle.block, handle.generation};
}

/// Pages that the kernel had to find for this process.
long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

template <typename Next>
void stream(const char* how, Queue& full, Queue& free, Next next) {
  mp::Process consumer(mp::ProcessOptions{.name = "consumer"}, consume, full, free, kBatches);
  consumer.start();
  std::set<std::pair<std::uint32_t, std::uint32_t>> memory;
  const long start = page_faults();
  for (int i = 0; i < kBatches; ++i) {
    const Tensor batch = next();
    {
      const timeline::Span span("fill", static_cast<std::uint64_t>(i));
      batch.fill_(i);
    }
    full.put(batch, Deadline::never());
    memory.insert(memory_of(batch));
  }
  consumer.join(Deadline::never());
  fmt::print("  {}: {} batches in {} pieces of memory, {} page faults in the producer\n", how,
             kBatches, memory.size(), page_faults() - start);
  std::fflush(stdout);
}

void fresh_memory() {
  Queue full;
  Queue back(Bytes{std::size_t{64} << 10U});
  stream("new memory  ", full, back, [&] {
    (void)back.try_get();  // what comes back is dropped
    return Tensor::zeros({kElements});
  });
}

void few_buffers() {
  Queue full;
  Queue free;
  for (int i = 0; i < kBuffers; ++i) {
    const Tensor buffer = Tensor::zeros({kElements});
    buffer.share_memory();
    free.put(buffer, Deadline::never());
  }
  stream("few buffers ", full, free, [&] { return *free.get(Deadline::never()); });
}

/// Gates make the consumer slow: it looks at its first batch when the producer has gone round.
void without_asking() {
  Queue full;
  mp::Event gone_round;
  const auto slow = [&] {
    const Tensor batch = *full.get(Deadline::never());
    (void)gone_round.wait(Deadline::never());
    fmt::print("  without asking: the consumer's batch 0 is full of {}\n", batch.item<float>());
    std::fflush(stdout);
  };
  mp::Process consumer(mp::kForkOnly, mp::ProcessOptions{.name = "slow consumer"}, slow);
  std::vector<Tensor> buffers;
  for (int i = 0; i < kBuffers; ++i) {
    buffers.push_back(Tensor::zeros({1}));
    buffers.back().share_memory();
  }
  consumer.start();
  for (int i = 0; i <= kBuffers; ++i) {
    const Tensor& buffer = buffers[static_cast<std::size_t>(i % kBuffers)];
    buffer.fill_(i);
    timeline::record({.kind = timeline::Kind::kMark, .label = fmt::format("fills batch {}", i)});
    full.put(buffer, Deadline::never());
  }
  gone_round.set();
  consumer.join(Deadline::never());
}

}  // namespace demo09

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  fmt::print("{} batches of 1 MiB to another process\n", demo09::kBatches);
  demo09::fresh_memory();
  demo09::few_buffers();
  demo09::without_asking();
}
