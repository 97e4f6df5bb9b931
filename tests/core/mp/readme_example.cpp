// SPDX-License-Identifier: Apache-2.0
//! [readme]
#include <cstdio>

#include "plab/mp/init.h"
#include "plab/mp/queue.h"
#include "plab/mp/spawn.h"
#include "plab/tensor/ops.h"

using namespace plab;

// Runs in three processes. `data` is not copied: all of them see the same memory.
void sum_part(int rank, Tensor data, mp::Queue<double> results) {
  const std::int64_t part = data.size(0) / 3;
  results.put(sum(data.narrow(0, rank * part, part)).item<double>(), Deadline::never());
}

void fail(int rank) {
  if (rank == 2) throw std::runtime_error("no more work");
}

int main(int argc, char** argv) {
  mp::init(argc, argv);

  const Tensor data = Tensor::ones({3'000'000});
  mp::Queue<double> results;
  mp::spawn(sum_part, std::tuple(data, results), 3);
  double total = 0;
  for (int i = 0; i < 3; ++i) total += results.get(Deadline::never()).value();
  std::printf("sum of %.0f\n", total);

  try {
    mp::spawn(fail, std::tuple(), 3);
  } catch (const mp::ProcessRaised& error) {
    std::printf("worker %d: %s\n", error.rank(), error.message().c_str());
  }
}
//! [readme]
