// SPDX-License-Identifier: Apache-2.0
// The same write of a child into a tensor that is not shared and into one that is, and how much
// memory goes with a row of a table, as a view and as a clone.
#include <fmt/format.h>

#include <cstdio>

#include "plab/base/timeline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/tensor/tensor.h"

using namespace plab;

namespace {

void add_one(Tensor weights) {
  const timeline::Span span("add_one");
  weights.add_(Tensor::ones({1}));
}

void write_in_a_child(const char* what, const Tensor& weights) {
  mp::Process child(mp::ProcessOptions{.name = what, .start_method = mp::StartMethod::kFork},
                    add_one, weights);
  child.start();
  child.join(Deadline::never());
  fmt::print("{:<22} a forked child adds 1, and this process reads {}\n", what,
             weights.at<float>({0}));
  std::fflush(stdout);
}

void memory_of_a_row(const char* what, const Tensor& row) {
  mp::SimpleQueue<Tensor> queue;
  queue.put(row, Deadline::never());
  const Tensor arrived = queue.get(Deadline::never()).value();
  fmt::print("{:<22} {} elements arrive, with a memory of {} bytes\n", what, arrived.numel(),
             arrived.storage().bytes());
}

}  // namespace

int main(int argc, char** argv) {
  mp::init(argc, argv);
  write_in_a_child("weights", Tensor::zeros({8}));
  write_in_a_child("weights, shared", Tensor::zeros({8}).share_memory());
  memory_of_a_row("table[7]", Tensor::zeros({4096, 1024})[7]);
  memory_of_a_row("table[7].clone()", Tensor::zeros({4096, 1024})[7].clone());
}
