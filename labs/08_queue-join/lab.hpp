#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 08: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <cstdint>
#include <string>
#include <vector>

#include "plab/mp/process.h"
#include "plab/mp/queue.h"
#include "plab/mp/sync.h"
#include "plab/tensor/tensor.h"

namespace lab08 {

/// One result of a producer.
struct Item {
  int producer = 0;
  int number = 0;
  std::string text;    ///< of any length: together they are far more than the queue holds
  plab::Tensor score;  ///< one number; may still hang on the graph that computed it
  template <class Archive>
  void serialize(Archive& archive) {
    archive(producer, number, text, score);
  }
};

/// The number of an end mark.
inline constexpr int kEnd = -1;

/// What every producer gets along with its rank.
struct Job {
  plab::mp::Queue<Item> queue = plab::mp::Queue<Item>::unbound();
  int count = 0;  ///< items of each producer
  std::uint64_t seed = 0;
  std::vector<plab::mp::Event> made;  ///< by producer: make_item has made its last item
  plab::mp::Semaphore finished{0};    ///< the check's: who has come to its end
  template <class Archive>
  void serialize(Archive& archive) {
    archive(queue, count, seed, made, finished);
  }
};

/// The item of this number, 0 to job.count - 1. Given. Its score comes out of a computation with a
/// parameter: often it is a non-leaf tensor that requires a gradient.
Item make_item(const Job& job, int producer, int number);
/// An item that says that this producer puts no more. Given.
Item end_mark(int producer);

/// Puts all items of this producer in the order of their numbers, then its end mark, and returns.
/// Runs in the producer's process. Every item arrives, with the value of its score.
void produce(int producer, Job job);

/// Takes items until each of the `producers` has said that it puts no more; returns all of them,
/// without the end marks, in the order of their arrival.
std::vector<Item> drain(int producers, const Job& job);

/// The work of a producer's process: produce(producer, job), and what the check adds. Given.
void run_producer(int producer, Job job);
/// Runs run_producer(p, job) in `producers` processes and returns what they put, when all of them
/// have ended.
std::vector<Item> run(int producers, const Job& job);

}  // namespace lab08
