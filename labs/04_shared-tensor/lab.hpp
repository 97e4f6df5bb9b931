#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 04: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <cstdint>

#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/sync.h"
#include "plab/tensor/tensor.h"

namespace lab04 {

/// Where bytes are, in terms that hold in every process: which file or memfd, and where in it.
struct Place {
  std::uint64_t inode = 0;  ///< 0: memory of this process alone
  std::uint64_t offset = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(inode, offset);
  }
  friend bool operator==(const Place&, const Place&) = default;
};

/// What the other process gets besides its tensors.
struct Job {
  plab::mp::SimpleQueue<Place> places;          ///< it says where its weights are
  plab::mp::SimpleQueue<plab::Tensor> tensors;  ///< what send_row and send_twice put
  plab::mp::Event parent_wrote, child_wrote;
  std::uint64_t seed = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(places, tensors, parent_wrote, child_wrote, seed);
  }
};

/// The work of the other process: reads and writes the weights. Given.
void train(plab::Tensor weights, Job job);

/// Where the first element of a tensor is.
Place place_of(const plab::Tensor& tensor);

/// Starts train(weights, job) in a process, by whatever start method is set, and returns it. From
/// then on the weights of this process and of that one are the same memory.
plab::mp::Process start_training(const plab::Tensor& weights, const Job& job);

/// Puts one row of the table, and no more memory than that row: the table stays this process's.
void send_row(plab::mp::SimpleQueue<plab::Tensor>& queue, const plab::Tensor& table,
              std::int64_t row);

/// Rows that come one by one and that several processes see.
struct Series {
  plab::Tensor rows;    ///< f32, room for all rows
  plab::Tensor length;  ///< i64, one element: how many rows there are
  template <class Archive>
  void serialize(Archive& archive) {
    archive(rows, length);
  }
};

/// An empty series with room for `capacity` rows of `width` numbers.
Series make_series(std::int64_t capacity, std::int64_t width);
/// Adds a row. Who has the series, in whatever process, sees it. Called by one process only, and
/// at most `capacity` times.
void append(Series& series, const plab::Tensor& row);

}  // namespace lab04
