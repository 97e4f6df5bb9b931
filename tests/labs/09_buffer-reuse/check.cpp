// SPDX-License-Identifier: Apache-2.0
// The check of lab 09. Each side alone against the check's own other side, so that every order is
// known; then both together. The children say what they do by a queue of reports; a buffer is
// known by its handle, whose generation changes when the memory is given out anew.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <thread>

#include "09_buffer-reuse/lab.hpp"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "support/check.h"
#include "tests/labs/09_buffer-reuse/children.h"

namespace lab09 {

using namespace plab;

namespace {

using lab::CheckRun;

Setup make_setup(CheckRun& check, int buffers, std::int64_t count) {
  Setup setup;
  setup.seed = check.seed();
  setup.count = count;
  setup.lane = make_lane(buffers, 500 + static_cast<std::int64_t>(check.seed() % 100));
  return setup;
}

/// The buffers in the queue of free ones, which is empty afterwards.
std::vector<Tensor> take_free(Setup& setup) {
  std::vector<Tensor> buffers;
  while (auto buffer = setup.lane.free.try_get()) buffers.push_back(std::move(*buffer));
  return buffers;
}

bool has(const std::vector<Tensor>& pool, const Buffer& buffer) {
  return std::ranges::any_of(pool, [&](const Tensor& t) { return buffer_of(t) == buffer; });
}

void require_pool(CheckRun& check, const std::vector<Tensor>& pool, int buffers) {
  check.require(pool.size() == static_cast<std::size_t>(buffers), "L09-POOL", [&] {
    return fmt::format("make_lane({}, ...): {} buffers are free", buffers, pool.size());
  });
  for (std::size_t i = 0; i < pool.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      check.require(buffer_of(pool[i]) != buffer_of(pool[j]), "L09-POOL", [&] {
        return fmt::format("free buffers {} and {} are both {}", j, i, buffer_of(pool[i]).text());
      });
    }
  }
}

char state_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto at = text.rfind(')');
  return at == std::string::npos || at + 2 >= text.size() ? '?' : text[at + 2];
}

/// All buffers are filled and none is back: the producer has to sleep.
void require_patience(CheckRun& check, Setup& setup, const std::vector<Tensor>& pool, int pid) {
  std::optional<Report> more;
  // Asleep and nothing said: no further fill has begun.
  while (!more && state_of(pid) != 'S') {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    more = setup.reports.try_get();
  }
  if (!more) more = setup.reports.try_get();
  check.require(!more || has(pool, more->buffer), "L09-ALLOCATES", [&] {
    return fmt::format("batch {} goes into {}, which is not one of the {} of the pool",
                       more->number, more->buffer.text(), pool.size());
  });
  check.require(!more, "L09-OVERWRITTEN", [&] {
    return fmt::format(
        "batch {} is written into {}, and the batch that was sent in it has not come "
        "back",
        more->number, more->buffer.text());
  });
}

void require_fill(CheckRun& check, Setup& setup, const std::vector<Tensor>& pool,
                  std::int64_t number) {
  const Report report = *setup.reports.get(Deadline::never());
  check.require(report.number == number, "L09-ORDER", [&] {
    return fmt::format("batch {} is filled when {} is due", report.number, number);
  });
  check.require(has(pool, report.buffer), "L09-ALLOCATES", [&] {
    return fmt::format("batch {} goes into {}, which is not one of the {} of the pool", number,
                       report.buffer.text(), pool.size());
  });
}

void producer_alone(CheckRun& check) {
  const int buffers = 2 + static_cast<int>(check.seed() % 3);
  const std::int64_t count = 3 * buffers + 1;
  Setup setup = make_setup(check, buffers, count);
  const std::vector<Tensor> pool = take_free(setup);
  require_pool(check, pool, buffers);
  for (const Tensor& buffer : pool) setup.lane.free.put(buffer, Deadline::never());
  mp::Process producer(run_producer, setup);
  producer.start();
  for (int i = 0; i < buffers; ++i) require_fill(check, setup, pool, i);
  require_patience(check, setup, pool, producer.pid());
  for (std::int64_t number = 0; number < count; ++number) {
    const Batch batch = *setup.lane.full.get(Deadline::never());
    check.require(batch.number == number, "L09-ORDER", [&] {
      return fmt::format("batch {} was sent when {} is due", batch.number, number);
    });
    check.require(is_batch(setup.seed, number, batch.data), "L09-OVERWRITTEN", [&] {
      return fmt::format("batch {} in {} has not the bytes that were filled in", number,
                         buffer_of(batch.data).text());
    });
    setup.lane.free.put(batch.data, Deadline::never());
    if (number + buffers < count) require_fill(check, setup, pool, number + buffers);
  }
  producer.join(Deadline::never());
  check.proved(
      fmt::format("the producer filled {} buffers without waiting, slept until one came "
                  "back, and used no other memory for {} batches",
                  buffers, count));
}

void consumer_alone(CheckRun& check) {
  const int buffers = 3 + static_cast<int>(check.seed() % 3);
  Setup setup = make_setup(check, buffers, buffers);
  const std::vector<Tensor> pool = take_free(setup);
  for (int i = 0; i < buffers; ++i) {
    write_batch(setup.seed, i, pool[static_cast<std::size_t>(i)]);
    setup.lane.full.put({i, pool[static_cast<std::size_t>(i)]}, Deadline::never());
  }
  mp::Process consumer(run_consumer, setup);
  consumer.start();
  for (int i = 0; i < buffers; ++i) {
    const Report report = *setup.reports.get(Deadline::never());
    check.require(report.number == i && report.whole, "L09-ORDER",
                  [&] { return fmt::format("batch {} is used when {} is due", report.number, i); });
    check.require(i > 0 || report.free_is_empty, "L09-RETURNED-EARLY", [&] {
      return fmt::format("while batch 0 is used, a buffer is free already; all {} hold batches",
                         buffers);
    });
  }
  consumer.join(Deadline::never());
  const std::vector<Tensor> back = take_free(setup);
  for (std::size_t i = 0; i < back.size(); ++i) {
    const auto times = std::ranges::count_if(
        back, [&](const Tensor& t) { return buffer_of(t) == buffer_of(back[i]); });
    check.require(times == 1, "L09-DOUBLE-RETURN", [&] {
      return fmt::format("{} came back {} times", buffer_of(back[i]).text(), times);
    });
    check.require(has(pool, buffer_of(back[i])), "L09-ALLOCATES", [&] {
      return fmt::format("{} came back, which is none of the pool", buffer_of(back[i]).text());
    });
  }
  check.require(back.size() == pool.size(), "L09-NOT-RETURNED", [&] {
    return fmt::format("{} of {} buffers came back", back.size(), pool.size());
  });
  check.proved(
      fmt::format("{} batches were used, and each buffer came back once, afterwards", buffers));
}

/// Both processes have at the end what they had after the warm-up.
void require_steady(CheckRun& check, Setup& setup) {
  std::vector<Footprint> prints;
  while (const auto print = setup.footprints.try_get()) prints.push_back(*print);
  if (prints.size() != 4) throw std::logic_error("four footprints were to be taken");
  for (std::size_t i = 0; i < prints.size(); ++i) {
    const Footprint& last = prints[i];
    const auto warm = std::ranges::find(prints, last.pid, &Footprint::pid);
    check.require(*warm == last, "L09-ALLOCATES", [&] {
      return fmt::format(
          "process {} had {} blocks, {} mappings, {} descriptors after {} batches, "
          "and {}, {}, {} after {}",
          last.pid, warm->blocks, warm->mappings, warm->descriptors, setup.warm_up + 1, last.blocks,
          last.mappings, last.descriptors, setup.count);
    });
  }
}

void together(CheckRun& check) {
  const int buffers = 2 + static_cast<int>(check.seed() % 2);
  constexpr std::int64_t kCount = 300;
  Setup setup = make_setup(check, buffers, kCount);
  setup.together = true;
  setup.warm_up = 4 * buffers;
  setup.reports = mp::SimpleQueue<Report>(Bytes{std::size_t{1} << 20U});
  mp::Process producer(run_producer, setup);
  mp::Process consumer(run_consumer, setup);
  producer.start();
  consumer.start();
  producer.join(Deadline::never());
  consumer.join(Deadline::never());
  std::int64_t reports = 0;
  for (; const auto report = setup.reports.try_get(); ++reports) {
    check.require(report->whole, "L09-OVERWRITTEN", [&] {
      return fmt::format("batch {} in {} changed while it was used", report->number,
                         report->buffer.text());
    });
  }
  check.require(reports == 2 * kCount, "L09-ORDER",
                [&] { return fmt::format("{} fills and uses, not {}", reports, 2 * kCount); });
  require_steady(check, setup);
  check.proved(
      fmt::format("{} batches through {} buffers: each was used while the next was filled, "
                  "and after {} batches neither process took memory, mappings or "
                  "descriptors",
                  kCount, buffers, setup.warm_up + 1));
}

}  // namespace
}  // namespace lab09

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"the producer, and nobody who returns a buffer", lab09::producer_alone,
                           20},
      plab::lab::CheckCase{"the consumer, and nobody who fills", lab09::consumer_alone, 10},
      plab::lab::CheckCase{"both together", lab09::together, 600}};
  return plab::lab::run_checks(argc, argv, kCases);
}
