// SPDX-License-Identifier: Apache-2.0
// The check of lab 04: places, not values alone, say that two processes have the same memory.
#include <fmt/format.h>

#include <array>
#include <random>

#include "04_shared-tensor/lab.hpp"
#include "plab/mp/init.h"
#include "plab/mp/wire.h"
#include "plab/os/mapping.h"
#include "plab/tensor/ops.h"
#include "support/check.h"

namespace lab04 {

using namespace plab;

namespace {

using lab::CheckRun;

constexpr std::int64_t kWeights = 1000;

float value_at(std::uint64_t seed, std::int64_t index, int writer) {
  std::mt19937_64 random(seed * 7919 + static_cast<std::uint64_t>(index) * 3 +
                         static_cast<std::uint64_t>(writer));
  return static_cast<float>(random() % 100'000);
}

void write(const Tensor& weights, std::uint64_t seed, int writer) {
  for (std::int64_t i = 0; i < weights.numel(); ++i) {
    weights.data<float>()[i] = value_at(seed, i, writer);
  }
}

/// The first element that is not what the writer wrote; -1 when all are.
std::int64_t first_wrong(const Tensor& weights, std::uint64_t seed, int writer) {
  for (std::int64_t i = 0; i < weights.numel(); ++i) {
    if (weights.data<float>()[i] != value_at(seed, i, writer)) return i;
  }
  return -1;
}

enum Found : int { kFine = 0, kOldWeights = 41 };

/// As the learner's place_of should say it, by another way.
Place true_place(const Tensor& tensor) {
  const os::MemoryPlace place = os::memory_place(tensor.raw_data());
  return tensor.is_shared() ? Place{place.inode, place.offset} : Place{};
}

}  // namespace

void train(Tensor weights, Job job) {
  job.places.put(true_place(weights), Deadline::never());
  (void)job.parent_wrote.wait(Deadline::never());
  const bool seen = first_wrong(weights, job.seed, 1) == -1;
  write(weights, job.seed, 2);
  job.child_wrote.set();
  mp::exit_process(seen ? kFine : kOldWeights);
}

namespace {

void places(CheckRun& check) {
  const Tensor own = Tensor::zeros({kWeights});
  const Tensor shared = Tensor::zeros({kWeights}).share_memory();
  const auto row = static_cast<std::int64_t>(1 + check.seed() % (kWeights - 1));
  check.require(place_of(own) == Place{}, "L04-PLACE", [&] {
    return fmt::format("the memory of a tensor that is not shared has inode {}",
                       place_of(own).inode);
  });
  for (const Tensor& tensor : {shared, shared.slice(0, row, kWeights)}) {
    const Place wanted = true_place(tensor);
    const Place got = place_of(tensor);
    check.require(got == wanted, "L04-PLACE", [&] {
      return fmt::format("element {} is at offset {} of inode {}; place_of says {} of {}",
                         tensor.storage_offset(), wanted.offset, wanted.inode, got.offset,
                         got.inode);
    });
  }
}

void training(CheckRun& check) {
  const Tensor weights = Tensor::zeros({kWeights});
  Job job;
  job.seed = check.seed();
  mp::Process process = start_training(weights, job);
  const auto theirs = job.places.get(Deadline::never()).value();
  const Place ours = true_place(weights);
  check.require(theirs.inode != 0, "L04-COPY", [&] {
    return fmt::format("the weights of process {} are memory of its own: a copy", process.pid());
  });
  check.require(ours == theirs, "L04-OTHER-MEMORY", [&] {
    return fmt::format(
        "process {} has its weights at offset {} of inode {}, this process at {} of "
        "{}",
        process.pid(), theirs.offset, theirs.inode, ours.offset, ours.inode);
  });
  write(weights, job.seed, 1);
  job.parent_wrote.set();
  (void)job.child_wrote.wait(Deadline::never());
  process.join(Deadline::never());
  check.require(process.exitcode() == kFine, "L04-OTHER-MEMORY", [&] {
    return fmt::format("process {} did not see what this process wrote", process.pid());
  });
  const std::int64_t wrong = first_wrong(weights, job.seed, 2);
  check.require(wrong == -1, "L04-OTHER-MEMORY", [&] {
    return fmt::format("this process does not see what process {} wrote, from element {} on",
                       process.pid(), wrong);
  });
  mp::wire::Encoder message;
  mp::wire::encode(message, weights);
  check.proved(
      fmt::format("both processes had the weights at offset {} of inode {}, and saw each "
                  "other's writes; a message that names their {} bytes has {}",
                  ours.offset, ours.inode, weights.storage().bytes(),
                  message.finish(mp::wire::type_id<Tensor>()).size()));
}

/// What a receiver found.
struct Received {
  std::int64_t elements = 0;
  std::uint64_t storage_bytes = 0;
  float first = 0;
  bool one_storage = false;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(elements, storage_bytes, first, one_storage);
  }
};

void receive(mp::SimpleQueue<Tensor> queue, mp::SimpleQueue<Received> found) {
  const Tensor tensor = queue.get(Deadline::never()).value();
  const Tensor again = queue.get(Deadline::never()).value();
  found.put({tensor.numel(), tensor.storage().bytes(), tensor.at<float>({0}),
             tensor.storage().is_same(again.storage()) && tensor.raw_data() == again.raw_data()},
            Deadline::never());
}

void rows(CheckRun& check) {
  constexpr std::int64_t kRows = 4096;
  constexpr std::int64_t kWidth = 1024;
  const Tensor table = Tensor::zeros({kRows, kWidth});
  const auto row = static_cast<std::int64_t>(check.seed() * 37 % kRows);
  const float mark = value_at(check.seed(), row, 3);
  table[row].fill_(mark);
  mp::SimpleQueue<Tensor> queue;
  mp::SimpleQueue<Received> found;
  mp::Process receiver(receive, queue, found);
  send_row(queue, table, row);
  const std::uint64_t row_bytes = kWidth * sizeof(float);
  check.require(!table.is_shared(), "L04-WHOLE-TABLE", [&] {
    return fmt::format("to send a row of {} bytes the whole table of {} was moved to shared memory",
                       row_bytes, table.storage().bytes());
  });
  const Tensor sent = queue.get(Deadline::never()).value();
  queue.put(sent, Deadline::never());
  queue.put(sent, Deadline::never());
  receiver.start();
  const Received what = found.get(Deadline::never()).value();
  receiver.join(Deadline::never());
  check.require(what.elements == kWidth && what.first == mark, "L04-WRONG-ROW", [&] {
    return fmt::format(
        "row {} has {} elements and begins with {}; what came has {} and begins with "
        "{}",
        row, kWidth, mark, what.elements, what.first);
  });
  check.require(what.storage_bytes == row_bytes, "L04-WHOLE-TABLE", [&] {
    return fmt::format("a row of {} bytes was sent, and {} bytes of memory came along", row_bytes,
                       what.storage_bytes);
  });
  check.require(what.one_storage, "L04-TWO-MAPPINGS",
                [] { return std::string("one tensor, received twice, is at two addresses"); });
  check.proved(
      fmt::format("a row of a table of {} MiB took {} bytes of shared memory; received "
                  "twice it was one storage",
                  table.storage().bytes() >> 20U, row_bytes));
}

/// Reports the last row that it sees, whenever it is told to look.
void follow(Series series, mp::SimpleQueue<int> look, mp::SimpleQueue<Received> found) {
  while (look.get(Deadline::never()).value() != 0) {
    const auto length = series.length.item<std::int64_t>();
    const float first = length == 0 ? -1 : series.rows.at<float>({length - 1, 0});
    found.put({length, series.rows.storage().bytes(), first, true}, Deadline::never());
  }
}

void series_grows(CheckRun& check) {
  const auto capacity = static_cast<std::int64_t>(5 + check.seed() % 10);
  constexpr std::int64_t kWidth = 33;
  Series series = make_series(capacity, kWidth);
  check.require(series.rows.defined() && series.rows.sizes() == Shape{capacity, kWidth} &&
                    series.length.numel() == 1 && series.length.item<std::int64_t>() == 0,
                "L04-SERIES", [&] {
                  return fmt::format("an empty series has room for {} rows of {} and length 0",
                                     capacity, kWidth);
                });
  mp::SimpleQueue<int> look;
  mp::SimpleQueue<Received> found;
  mp::Process other(follow, series, look, found);
  other.start();
  std::string wrong;
  for (std::int64_t i = 0; i < capacity && wrong.empty(); ++i) {
    const float mark = value_at(check.seed(), i, 4);
    append(series, Tensor::full({kWidth}, mark));
    look.put(1, Deadline::never());
    const Received seen = found.get(Deadline::never()).value();
    if (seen.elements != i + 1 || seen.first != mark) {
      wrong = fmt::format("after row {} (of {}) process {} sees {} rows, and in the last one {}", i,
                          mark, other.pid(), seen.elements, seen.first);
    }
  }
  look.put(0, Deadline::never());
  other.join(Deadline::never());
  check.require(wrong.empty(), "L04-NOT-SEEN", [&] { return wrong; });
  check.require(series.length.item<std::int64_t>() == capacity, "L04-SERIES", [&] {
    return fmt::format("after {} rows the length is {}", capacity,
                       series.length.item<std::int64_t>());
  });
  check.proved(fmt::format("{} rows came one by one, and the other process saw each", capacity));
}

}  // namespace
}  // namespace lab04

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"places hold in every process", lab04::places, 3},
      plab::lab::CheckCase{"both processes have the same weights", lab04::training, 4},
      plab::lab::CheckCase{"a row travels without its table", lab04::rows, 4},
      plab::lab::CheckCase{"a series grows under the eyes of another process", lab04::series_grows,
                           3}};
  return plab::lab::run_checks(argc, argv, kCases);
}
