// SPDX-License-Identifier: Apache-2.0
// What a message costs: by its size, copied through a queue or as a handle of shared memory; one by
// one or in batches; and the first time, which is not like the others.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "plab/base/timeline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/tensor/tensor.h"

namespace demo11 {

using namespace plab;

using Data = std::vector<std::uint8_t>;

struct Lane {
  mp::SimpleQueue<Data> copies{Bytes{std::size_t{16} << 20U}};
  mp::SimpleQueue<Tensor> handles;
  mp::SimpleQueue<std::uint64_t> answers;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(copies, handles, answers);
  }
};

void answer_copies(Lane lane) {
  while (true) {
    const Data data = *lane.copies.get(Deadline::never());
    lane.answers.put(data.size(), Deadline::never());
    if (data.empty()) return;
  }
}

void answer_handles(Lane lane) {
  while (true) {
    const Tensor tensor = *lane.handles.get(Deadline::never());
    lane.answers.put(tensor.defined() ? static_cast<std::uint64_t>(tensor.numel()) : 0,
                     Deadline::never());
    if (!tensor.defined()) return;
  }
}

template <typename Once>
std::vector<double> times_us(int count, Once once) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const std::int64_t start = monotonic_ns();
    once();
    times.push_back(static_cast<double>(monotonic_ns() - start) / 1e3);
  }
  return times;
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// One cost for copies and one for handles, of payloads that lie in this process's own memory.
void by_size() {
  Lane lane;
  mp::Process copier(mp::ProcessOptions{.name = "copies"}, answer_copies, lane);
  copier.start();
  mp::Process sharer(mp::ProcessOptions{.name = "handles"}, answer_handles, lane);
  fmt::print("1. there and back, by size (median us)\n       bytes      copied      shared\n");
  std::vector<std::pair<std::size_t, double>> copied;
  constexpr int kCount = 31;
  for (std::size_t bytes = 64; bytes <= (std::size_t{4} << 20U); bytes *= 4) {
    const Data data(bytes, std::uint8_t{1});
    const timeline::Span span(fmt::format("copies of {} bytes", bytes));
    copied.emplace_back(bytes, median(times_us(kCount, [&] {
                          lane.copies.put(data, Deadline::never());
                          (void)lane.answers.get(Deadline::never());
                        })));
  }
  lane.copies.put({}, Deadline::never());
  copier.join(Deadline::never());
  (void)lane.answers.get(Deadline::never());
  sharer.start();
  for (const auto& [bytes, copy_us] : copied) {
    const Data data(bytes, std::uint8_t{1});
    const timeline::Span span(fmt::format("handles of {} bytes", bytes));
    const double share_us = median(times_us(kCount, [&] {
      const Tensor tensor = Tensor::empty({static_cast<std::int64_t>(data.size())}, DType::kU8);
      tensor.share_memory();
      std::memcpy(tensor.raw_data(), data.data(), data.size());
      lane.handles.put(tensor, Deadline::never());
      (void)lane.answers.get(Deadline::never());
    }));
    fmt::print("  {:>10}  {:>10.1f}  {:>10.1f}\n", bytes, copy_us, share_us);
  }
  std::fflush(stdout);
  lane.handles.put(Tensor(), Deadline::never());
  sharer.join(Deadline::never());
}

void take(mp::SimpleQueue<Data> queue, std::size_t bytes) {
  while (bytes > 0) bytes -= queue.get(Deadline::never())->size();
}

void one_by_one_and_batched() {
  constexpr std::size_t kRecord = 32;
  constexpr std::size_t kRecords = 30'000;
  fmt::print("2. {} records of {} bytes\n", kRecords, kRecord);
  for (const std::size_t each : {std::size_t{1}, std::size_t{10}, std::size_t{500}}) {
    mp::SimpleQueue<Data> queue;
    mp::Process reader(mp::ProcessOptions{.name = "reader"}, take, queue, kRecords * kRecord);
    reader.start();
    const timeline::Span span(fmt::format("{} records a message", each));
    const std::int64_t start = monotonic_ns();
    for (std::size_t sent = 0; sent < kRecords; sent += each) {
      queue.put(Data(each * kRecord), Deadline::never());
    }
    reader.join(Deadline::never());
    fmt::print("  {:>4} a message: {:>6} messages, {:>6.1f} ms\n", each, kRecords / each,
               static_cast<double>(monotonic_ns() - start) / 1e6);
    std::fflush(stdout);
  }
}

void the_first_time() {
  Lane lane;
  mp::Process process(mp::ProcessOptions{.name = "first time"}, answer_copies, lane);
  process.start();
  const Data data(std::size_t{256} << 10U, std::uint8_t{1});
  const auto times = times_us(31, [&] {
    lane.copies.put(data, Deadline::never());
    (void)lane.answers.get(Deadline::never());
  });
  lane.copies.put({}, Deadline::never());
  process.join(Deadline::never());
  fmt::print("3. 256 KiB for the first time: {:.0f} us; median of the next 30: {:.0f} us\n",
             times[0], median({times.begin() + 1, times.end()}));
}

}  // namespace demo11

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  demo11::by_size();
  demo11::one_by_one_and_batched();
  demo11::the_first_time();
}
