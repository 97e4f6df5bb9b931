// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/heap_cache.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "plab/base/error.h"
#include "plab/tensor/tensor.h"

namespace plab {

namespace {

using detail::heap_allocate;
using detail::heap_free;

bool aligned(const void* block) {
  return reinterpret_cast<std::uintptr_t>(block) % detail::kHeapAlignment == 0;
}

}  // namespace

TEST_CASE("Heap blocks are aligned, apart, and writable to the last byte", "[tensor]") {
  std::vector<std::pair<std::byte*, std::size_t>> held;
  for (const std::size_t size : {1, 63, 64, 65, 100, 4095, 4097, 100'000, 1 << 20, (1 << 20) + 1}) {
    for (int i = 0; i < 5; ++i) {
      std::byte* const block = heap_allocate(size);
      REQUIRE(aligned(block));
      std::memset(block, static_cast<int>(held.size() + 1), size);
      held.emplace_back(block, size);
    }
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto mark = static_cast<std::byte>(i + 1);
    CHECK(held[i].first[0] == mark);
    CHECK(held[i].first[held[i].second - 1] == mark);
    heap_free(held[i].first, held[i].second);
  }
}

TEST_CASE("No bytes take no block", "[tensor]") {
  CHECK(heap_allocate(0) == nullptr);
  heap_free(nullptr, 0);
}

TEST_CASE("Memory that cannot be had is a ResourceError with the size", "[tensor]") {
  CHECK_THROWS_AS(heap_allocate(SIZE_MAX), ResourceError);
  CHECK_THROWS_AS(heap_allocate(SIZE_MAX / 2), ResourceError);
  CHECK_THROWS_AS(Tensor::empty({1LL << 60}), ResourceError);
  CHECK_THROWS_AS(Tensor::empty({1LL << 62}), ShapeError);
}

TEST_CASE("A block may be freed by another thread, and after the cache of a thread is gone",
          "[tensor][threads]") {
  std::vector<std::byte*> blocks;
  std::thread([&] {
    for (int i = 0; i < 200; ++i) blocks.push_back(heap_allocate(256));
  }).join();
  std::thread([&] {
    for (std::byte* const block : blocks) heap_free(block, 256);
    // made before the cache of this thread is used, so destroyed after it
    thread_local std::unique_ptr<Tensor> late = std::make_unique<Tensor>();
    *late = Tensor::ones({100});
  }).join();
  SUCCEED();
}

TEST_CASE("Tensors that hold threads' last references are freed on any thread",
          "[tensor][threads]") {
  Tensor shared = Tensor::ones({1000});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([shared, i]() mutable {
      for (int k = 0; k < 1000; ++k) {
        Tensor mine = Tensor::full({10 + i}, k);
        if (mine.at<int>({9}) != k) std::abort();
      }
      shared = Tensor();
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(shared.storage().use_count() == 1);
}

}  // namespace plab
