// SPDX-License-Identifier: Apache-2.0
// Queues: the handle of a tensor to and fro, a stream of tensors, small messages.
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/bench.h"
#include "bench/cores.h"
#include "bench/peers.h"
#include "plab/base/error.h"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/tensor/tensor.h"

namespace plab::bench {

namespace {

using mp::Process;
using mp::ProcessOptions;
using mp::SimpleQueue;
using mp::StartMethod;

constexpr auto kForever = Deadline::never();

void join_well(Process& process) {
  process.join(kForever);
  if (process.exitcode() != 0) {
    throw Error(fmt::format("[bench.queue] the other side ended with {}", *process.exitcode()));
  }
}

void echo(SimpleQueue<Tensor> in, SimpleQueue<Tensor> out, int rounds) {
  run_on_core(1);
  for (int i = 0; i < rounds; ++i) out.put(*in.get(kForever), kForever);
}

// Microseconds for the handle of a shared tensor to go to another process and come back.
double round_trip_us(int rounds) {
  const CorePin pin(0);
  SimpleQueue<Tensor> there;
  SimpleQueue<Tensor> back;
  const Tensor tensor = Tensor::arange(1024, DType::kF32);
  tensor.share_memory();
  constexpr int kWarmUp = 500;
  Process other(ProcessOptions{.start_method = StartMethod::kFork}, echo, there, back,
                rounds + kWarmUp);
  other.start();
  std::int64_t start = 0;
  for (int i = 0; i < rounds + kWarmUp; ++i) {
    if (i == kWarmUp) start = monotonic_ns();
    there.put(tensor, kForever);
    const auto returned = back.get(kForever);
    if (returned->raw_data() != tensor.raw_data()) throw Error("[bench.queue] another tensor came");
  }
  const double us = static_cast<double>(monotonic_ns() - start) / 1e3 / rounds;
  join_well(other);
  return us;
}

void measure_round_trip(SimpleQueue<double> result, int rounds) {
  result.put(round_trip_us(rounds), kForever);
}

// In a fresh process, which reads PLAB_SPIN_US=0: every wait sleeps.
double round_trip_asleep_us(int rounds) {
  setenv("PLAB_SPIN_US", "0", 1);
  SimpleQueue<double> result;
  Process fresh(ProcessOptions{.start_method = StartMethod::kSpawn}, measure_round_trip, result,
                rounds);
  fresh.start();
  unsetenv("PLAB_SPIN_US");
  const double us = *result.get(kForever);
  join_well(fresh);
  return us;
}

constexpr std::size_t kPiece = std::size_t{4} << 20U;
constexpr std::size_t kTotal = std::size_t{512} << 20U;
constexpr std::size_t kSlots = 4;

void take_stream(SimpleQueue<Tensor> filled, SimpleQueue<Tensor> empty) {
  run_on_core(1);
  for (std::size_t i = 0; i < kTotal / kPiece; ++i) {
    const auto tensor = filled.get(kForever);
    if (tensor->data<float>()[0] != static_cast<float>(i)) throw Error("[bench.queue] wrong order");
    empty.put(*tensor, kForever);
  }
}

// A writer fills buffers of 4 MiB that come back from the reader, and sends them.
double stream_gb_per_s() {
  const CorePin pin(0);
  SimpleQueue<Tensor> filled;
  SimpleQueue<Tensor> empty;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const Tensor buffer = Tensor::ones({kPiece / sizeof(float)});
    buffer.share_memory();
    empty.put(buffer, kForever);
  }
  std::vector<float> source(kTotal / sizeof(float), 1.0F);
  Process reader(ProcessOptions{.start_method = StartMethod::kFork}, take_stream, filled, empty);
  reader.start();
  const auto start = monotonic_ns();
  for (std::size_t i = 0; i < kTotal / kPiece; ++i) {
    const auto buffer = empty.get(kForever);
    float* const from = source.data() + i * (kPiece / sizeof(float));
    *from = static_cast<float>(i);
    std::memcpy(buffer->raw_data(), from, kPiece);
    filled.put(*buffer, kForever);
  }
  join_well(reader);
  return static_cast<double>(kTotal) / static_cast<double>(monotonic_ns() - start);
}

using Small = std::array<std::uint8_t, 64>;

void take_small(SimpleQueue<Small> queue, int messages) {
  run_on_core(1);
  for (int i = 0; i < messages; ++i) {
    const auto message = queue.get(kForever);
    int number = 0;
    std::memcpy(&number, message->data(), sizeof number);
    if (number != i) throw Error("[bench.queue] wrong order");
  }
}

double small_messages_per_s(int messages) {
  const CorePin pin(0);
  SimpleQueue<Small> queue;
  Process reader(ProcessOptions{.start_method = StartMethod::kFork}, take_small, queue, messages);
  reader.start();
  const auto start = monotonic_ns();
  Small message{};
  for (int i = 0; i < messages; ++i) {
    std::memcpy(message.data(), &i, sizeof i);
    queue.put(message, kForever);
  }
  join_well(reader);
  return messages / (static_cast<double>(monotonic_ns() - start) * 1e-9);
}

std::optional<double> torch_figure(const std::string& part, const std::string& name) {
  const auto figures = torch_figures(part);
  return figures ? std::optional(figures->at(name)) : std::nullopt;
}

}  // namespace

void bench_queue(std::vector<Row>& rows) {
  const auto awake = alternate(
      7, Better::kLower, [] { return round_trip_us(20'000); },
      [] { return spin_round_trip_us(20'000); });
  rows.push_back({.name = "handle of a shared tensor, round trip, both awake",
                  .value = awake.ours,
                  .unit = "us",
                  .peer = "torch SimpleQueue",
                  .peer_value = torch_figure("queue", "round_trip_us"),
                  .goal = {Rule::kValueAtMost, 1.5},
                  .note = fmt::format("two cache lines that spin: {:.2f} us", awake.peer)});
  const auto asleep = alternate(
      5, Better::kLower, [] { return round_trip_asleep_us(4000); },
      [] { return futex_round_trip_us(4000); });
  rows.push_back({.name = "handle of a shared tensor, round trip, both asleep",
                  .value = asleep.ours,
                  .unit = "us",
                  .peer = "bare futex",
                  .peer_value = asleep.peer,
                  .goal = {Rule::kRatioAtMost, 1.3}});
  const auto stream = alternate(5, Better::kHigher, stream_gb_per_s,
                                [] { return memcpy_gb_per_s(kTotal, kPiece, kSlots); });
  rows.push_back({.name = "stream of 4 MiB tensors, buffers reused",
                  .value = stream.ours,
                  .unit = "GB/s",
                  .peer = "memcpy",
                  .peer_value = stream.peer,
                  .goal = {Rule::kRatioAtLeast, 0.7}});
  rows.push_back({.name = "stream of 4 MiB tensors",
                  .value = stream.ours,
                  .unit = "GB/s",
                  .peer = "torch SimpleQueue",
                  .peer_value = torch_figure("stream", "gb_per_s"),
                  .goal = {Rule::kRatioAtLeast, 10}});
  const auto small = alternate(
      5, Better::kHigher, [] { return small_messages_per_s(1'000'000); },
      [] { return boost_messages_per_s(200'000); });
  rows.push_back({.name = "messages of 64 bytes, one writer, one reader",
                  .value = small.ours / 1e6,
                  .unit = "M/s",
                  .peer = "Boost message_queue",
                  .peer_value = small.peer / 1e6,
                  .goal = {Rule::kRatioAtLeast, 10}});
}

}  // namespace plab::bench
