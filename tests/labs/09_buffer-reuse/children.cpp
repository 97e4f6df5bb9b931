// SPDX-License-Identifier: Apache-2.0
#include "tests/labs/09_buffer-reuse/children.h"

#include <fmt/format.h>

#include <fstream>

#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/shm/reclaim.h"

namespace lab09 {

using namespace plab;

std::string Buffer::text() const {
  return arena == 0 ? "a tensor that is not shared"
                    : fmt::format("buffer {}.{}", block, generation);
}

Buffer buffer_of(const Tensor& tensor) {
  if (!tensor.is_shared()) return {};
  const shm::Handle handle = tensor.storage().block().handle();
  return {handle.arena, handle.block, handle.generation};
}

namespace {

Footprint footprint() {
  Footprint now{.pid = os::self_identity().pid};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("rw-s") != std::string::npos) ++now.mappings;
  }
  now.descriptors = static_cast<std::int64_t>(os::open_descriptors().size());
  now.blocks = shm::stats().blocks_held;
  return now;
}

Setup* g_setup = nullptr;  // in the children; null in the check's own process

float element(std::uint64_t seed, std::int64_t number, std::int64_t index) {
  const auto mixed = (seed + 1) * 2654435761U + static_cast<std::uint64_t>(number) * 40503U +
                     static_cast<std::uint64_t>(index) * 97U;
  return static_cast<float>(mixed % 65'536U);
}

}  // namespace

void write_batch(std::uint64_t seed, std::int64_t number, const Tensor& buffer) {
  auto* const values = buffer.data<float>();
  for (std::int64_t i = 0; i < buffer.numel(); ++i) values[i] = element(seed, number, i);
}

bool is_batch(std::uint64_t seed, std::int64_t number, const Tensor& buffer) {
  const auto* const values = buffer.data<float>();
  for (std::int64_t i = 0; i < buffer.numel(); ++i) {
    if (values[i] != element(seed, number, i)) return false;
  }
  return true;
}

namespace {

void take_footprint(std::int64_t number) {
  const bool now = number == g_setup->warm_up || number + 1 == g_setup->count;
  if (g_setup->together && now) g_setup->footprints.put(footprint(), Deadline::never());
}

}  // namespace

void run_producer(Setup setup) {
  g_setup = &setup;
  produce(setup.lane, setup.count);
}

void run_consumer(Setup setup) {
  g_setup = &setup;
  consume(setup.lane, setup.count);
}

void fill(std::int64_t number, const Tensor& buffer) {
  if (g_setup->together) g_setup->begun.release();
  g_setup->reports.put({number, buffer_of(buffer)}, Deadline::never());
  write_batch(g_setup->seed, number, buffer);
  take_footprint(number);
}

void use(const Batch& batch) {
  Report report{batch.number, buffer_of(batch.data)};
  report.free_is_empty = g_setup->lane.free.empty();
  report.whole = is_batch(g_setup->seed, batch.number, batch.data);
  if (g_setup->together) {
    // Not over before the filling of the next batch has begun.
    const bool last = batch.number + 1 == g_setup->count;
    const int wanted = last ? 0 : (batch.number == 0 ? 2 : 1);
    for (int i = 0; i < wanted; ++i) (void)g_setup->begun.acquire(Deadline::never());
    report.whole = report.whole && is_batch(g_setup->seed, batch.number, batch.data);
  }
  g_setup->reports.put(report, Deadline::never());
  take_footprint(batch.number);
}

}  // namespace lab09
