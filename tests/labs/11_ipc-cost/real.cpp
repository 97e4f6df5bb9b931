// SPDX-License-Identifier: Apache-2.0
// The learner's functions with real queues and processes.
#include <fmt/format.h>

#include <cstring>
#include <random>

#include "11_ipc-cost/lab.hpp"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/tensor/tensor.h"
#include "tests/labs/11_ipc-cost/parts.h"

namespace lab11 {

using namespace plab;

namespace {

using lab::CheckRun;

constexpr int kWarmUp = 3;
constexpr int kRepeats = 15;

struct Line {
  mp::SimpleQueue<Record> copies{Bytes{std::size_t{4} << 20U}};
  mp::SimpleQueue<Tensor> handles;
  mp::SimpleQueue<std::uint64_t> answers;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(copies, handles, answers);
  }
};

/// Answers each message with its size; an empty copy is the last message.
void answer_copies(Line line) {
  std::size_t size = 1;
  while (size > 0) {
    size = line.copies.get(Deadline::never())->size();
    if (size > 0) line.answers.put(size, Deadline::never());
  }
}

/// The same for handles; an undefined tensor is the last one.
void answer_handles(Line line) {
  while (true) {
    const Tensor tensor = *line.handles.get(Deadline::never());
    if (!tensor.defined()) return;
    line.answers.put(static_cast<std::uint64_t>(tensor.numel()), Deadline::never());
  }
}

double measured(CheckRun& check, std::string_view what, const std::function<void()>& once) {
  Witness witness;
  const double got = cost_us([&] { witness.call([&](int) { once(); }); }, kWarmUp, kRepeats);
  const double truth = witness.median_behind(kWarmUp);
  check.require(got < 2 * truth + 3 && got > truth / 2 - 3, "L11-MEAN", [&] {
    return fmt::format("{}: cost_us gives {:.1f} us; the median of the same calls is {:.1f} us",
                       what, got, truth);
  });
  return got;
}

std::vector<Cost> measure_copies(CheckRun& check, Line& line) {
  std::vector<Cost> costs;
  for (std::size_t bytes = 256; bytes <= (std::size_t{1} << 20U); bytes *= 8) {
    const Record data(bytes, std::uint8_t{1});
    const double us = measured(check, fmt::format("{} bytes, copied", bytes), [&] {
      line.copies.put(data, Deadline::never());
      (void)line.answers.get(Deadline::never());
    });
    costs.push_back({bytes, us, 0});
  }
  return costs;
}

void measure_handles(CheckRun& check, Line& line, std::vector<Cost>& costs) {
  for (Cost& cost : costs) {
    const Record data(cost.bytes, std::uint8_t{1});
    cost.shared_us = measured(check, fmt::format("{} bytes, shared", cost.bytes), [&] {
      const Tensor tensor = Tensor::empty({static_cast<std::int64_t>(data.size())}, DType::kU8);
      tensor.share_memory();
      std::memcpy(tensor.raw_data(), data.data(), data.size());
      line.handles.put(tensor, Deadline::never());
      (void)line.answers.get(Deadline::never());
    });
  }
}

struct Stream {
  mp::SimpleQueue<Batch> batches{Bytes{std::size_t{1} << 20U}};
  mp::SimpleQueue<std::uint64_t> counts;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(batches, counts);
  }
};

/// Counts messages, records and bytes, up to the empty batch.
void count(Stream stream) {
  std::uint64_t messages = 0;
  std::uint64_t records = 0;
  std::uint64_t sum = 0;
  while (true) {
    const Batch batch = *stream.batches.get(Deadline::never());
    if (batch.lengths.empty()) break;
    ++messages;
    records += batch.lengths.size();
    for (const std::uint8_t byte : batch.bytes) sum += byte;
  }
  for (const std::uint64_t number : {messages, records, sum}) {
    stream.counts.put(number, Deadline::never());
  }
}

}  // namespace

void real_costs(CheckRun& check) {
  Line line;
  mp::Process copier(answer_copies, line);
  copier.start();
  std::vector<Cost> costs = measure_copies(check, line);
  line.copies.put({}, Deadline::never());
  copier.join(Deadline::never());
  mp::Process sharer(answer_handles, line);
  sharer.start();
  measure_handles(check, line, costs);
  line.handles.put(Tensor(), Deadline::never());
  sharer.join(Deadline::never());
  const auto from = crossover(costs);
  check.proved(
      fmt::format("there and back here: {} bytes copied {:.1f} us, shared {:.1f} us; {} bytes "
                  "copied {:.1f} us, "
                  "shared {:.1f} us; sharing is cheaper from {} on",
                  costs.front().bytes, costs.front().copied_us, costs.front().shared_us,
                  costs.back().bytes, costs.back().copied_us, costs.back().shared_us,
                  from ? fmt::format("{} bytes", *from) : "no measured size"));
}

void real_batches(CheckRun& check) {
  constexpr std::uint64_t kRecords = 20'000;
  constexpr std::size_t kMost = std::size_t{16} << 10U;
  constexpr std::int64_t kLongest = 1'000'000'000;
  Stream stream;
  mp::Process reader(count, stream);
  reader.start();
  Batcher batcher;
  batcher.most_bytes = kMost;
  batcher.longest_ns = kLongest;
  batcher.send = [&](const Batch& batch) { stream.batches.put(batch, Deadline::never()); };
  std::mt19937_64 random(check.seed() * 11);
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
  const std::int64_t start = monotonic_ns();
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    Record record(8 + random() % 120);
    for (auto& byte : record) sum += byte = static_cast<std::uint8_t>(random());
    bytes += record.size();
    add(batcher, record, monotonic_ns());
    tick(batcher, monotonic_ns());
  }
  finish(batcher);
  const auto overdue = static_cast<std::uint64_t>((monotonic_ns() - start) / kLongest);
  stream.batches.put({}, Deadline::never());
  reader.join(Deadline::never());
  const std::uint64_t messages = *stream.counts.get(Deadline::never());
  const std::uint64_t records = *stream.counts.get(Deadline::never());
  const bool all = records == kRecords && *stream.counts.get(Deadline::never()) == sum;
  check.require(all, "L11-LOST",
                [&] { return fmt::format("{} of {} records came", records, kRecords); });
  const std::uint64_t most_messages = bytes / kMost * 5 / 4 + 2 + overdue;
  check.require(messages <= most_messages, "L11-TOO-MANY", [&] {
    return fmt::format("{} bytes went in {} messages; {} are enough", bytes, messages,
                       most_messages);
  });
  check.proved(fmt::format("{} records to another process in {} messages: {} for each MiB", records,
                           messages, (messages << 20U) / bytes));
}

}  // namespace lab11
