#pragma once
// SPDX-License-Identifier: Apache-2.0
// Runs the tape backwards. A node runs as soon as every gradient of its output has arrived, latest
// recorded first; leaves run at once. So a leaf's gradient is complete, and its hooks run, while
// the rest of the backward still goes on: this is what overlaps communication with computation in
// DistributedDataParallel.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plab/nn/node.h"
#include "plab/tensor/tensor.h"

namespace plab::nn {

enum class Graph : std::uint8_t { kRelease, kRetain };

/// Adds to grad() of every leaf the gradient of `root`, which has one element or comes with
/// `gradient` (same shape). kRelease frees what the operations saved, so a second backward over
/// them is an error; kRetain keeps it.
///
/// @throws ContractError when `root` requires no gradient, was computed by a graph that is already
/// released, or when a tensor that is needed was changed in place (both with PyTorch's words);
/// ShapeError when `gradient` is missing or does not fit
/// @throws whatever a hook throws; gradients that had arrived by then stay accumulated
/// @threads one backward at a time over a graph; separate graphs may run in several threads
/// @fork a child may go on with a graph of its parent: it has a copy
void backward(const Tensor& root, const Tensor& gradient = Tensor(), Graph graph = Graph::kRelease);

/// The same for several roots in one walk. `gradients` is empty or has one for each root.
void backward(std::span<const Tensor> roots, std::span<const Tensor> gradients = {},
              Graph graph = Graph::kRelease);

/// Calls `callback` once, in this thread, after the last node of the backward that is now running.
/// Callbacks run in the order in which they were queued; one may queue another.
/// @throws ContractError outside a backward
void queue_callback(std::function<void()> callback);

/// Whether this thread is inside backward().
[[nodiscard]] bool in_backward() noexcept;

/// Called each time after the gradient of `leaf` was accumulated, with `leaf`: its grad() is
/// complete for this backward. In the order of registration, during the backward.
/// Returns a number for remove_post_accumulate_grad_hook.
/// @throws ContractError when `leaf` is not a leaf that requires a gradient
std::size_t register_post_accumulate_grad_hook(const Tensor& leaf,
                                               std::function<void(const Tensor&)> hook);
/// Takes it back; an unknown number is ignored.
void remove_post_accumulate_grad_hook(const Tensor& leaf, std::size_t number);

/// Every leaf that a backward from `outputs` would reach, each once, nearest first. A parameter
/// that is not in it is unused in this iteration (DDP's find_unused_parameters).
[[nodiscard]] std::vector<Tensor> reachable_leaves(std::span<const Tensor> outputs);

}  // namespace plab::nn
