// SPDX-License-Identifier: Apache-2.0
#include "plab/tensor/storage.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <thread>

#include "plab/base/error.h"
#include "plab/tensor/ops.h"

namespace plab {

namespace {

// Runs `body` in a forked child; its result is the exit code. The kernel orders what the child
// wrote before what follows waitpid.
template <typename Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    _exit(code);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("A heap storage has bytes and no block", "[tensor]") {
  const Storage storage = Storage::heap(100);
  CHECK(storage.bytes() == 100);
  CHECK(storage.kind() == MemoryKind::kHeap);
  CHECK_FALSE(storage.is_shared());
  CHECK(reinterpret_cast<std::uintptr_t>(storage.data()) % 64 == 0);
  CHECK_THROWS_AS(storage.block(), ContractError);
  CHECK(storage.is_same(Storage(storage)));  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK_FALSE(storage.is_same(Storage::heap(100)));
  Storage none;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK(none.bytes() == 0);
  CHECK_THROWS_AS(none.share_memory(), ContractError);
}

TEST_CASE("share_memory moves the bytes in place, and every view sees it", "[tensor]") {
  const Tensor t = Tensor::arange(1000);
  const Tensor view = t.view({100, 10}).slice(0, 20, 30).t();
  const Tensor copy = view.clone();
  view.share_memory();
  CHECK(t.is_shared());
  CHECK(view.is_shared());
  CHECK(t.storage().kind() == MemoryKind::kShared);
  CHECK(t.storage().block().bytes() >= 8000);  // the whole storage, not the slice alone
  CHECK(equal(view, copy));
  CHECK(t.data<std::int64_t>()[999] == 999);
  view.fill_(-1);
  CHECK(t.at<std::int64_t>({200}) == -1);
  CHECK(reinterpret_cast<std::uintptr_t>(t.raw_data()) % 64 == 0);
}

TEST_CASE("share_memory of shared memory does nothing", "[tensor]") {
  const Tensor t = Tensor::ones({10});
  const void* const before = t.share_memory().raw_data();
  const shm::Block block = t.storage().block();
  t.share_memory();
  t.detach().share_memory();
  CHECK(t.raw_data() == before);
  CHECK(t.storage().block().is_same(block));
}

TEST_CASE("share_memory takes the gradient along", "[tensor]") {
  const Tensor t = Tensor::ones({4}).requires_grad_();
  t.set_grad(Tensor::full({4}, 2));
  t.share_memory();
  CHECK(t.grad().is_shared());
  CHECK(t.grad().at<float>({3}) == 2);
  CHECK_FALSE(Tensor::ones({2}).requires_grad_().share_memory().grad().defined());
}

TEST_CASE("Tensors without elements and made in shared memory are shared", "[tensor]") {
  const Tensor none = Tensor::empty({0, 3}).share_memory();
  CHECK(none.is_shared());
  CHECK(none.to_vector<float>().empty());
  const Storage storage = Storage::shared(256);
  CHECK(storage.is_shared());
  CHECK(storage.bytes() == 256);
  const Tensor t = Tensor::view_of(storage, DType::kI32, {64}, {1}, 0);
  CHECK(sum(t).item<int>() == 0);  // zeroed
  CHECK(Storage::shared(0).is_shared());
}

TEST_CASE("One block is one storage in a process", "[tensor]") {
  const Tensor t = Tensor::ones({8}).share_memory();
  const Storage again = Storage::adopt(t.storage().block());
  CHECK(again.is_same(t.storage()));
  const Storage received = Storage::adopt(shm::Block::receive(t.storage().block().send()));
  CHECK(received.is_same(t.storage()));
  const shm::Block block = shm::Block::allocate(Bytes{100});
  const Storage first = Storage::adopt(block);
  CHECK(Storage::adopt(block).is_same(first));
  CHECK(first.bytes() == 100);
  CHECK_FALSE(first.is_same(t.storage()));
  CHECK_FALSE(Storage::adopt(shm::Block()).is_same(Storage::adopt(shm::Block())));
}

TEST_CASE("A block given out again is a new storage", "[tensor]") {
  std::set<const void*> places;
  for (int i = 0; i < 1000; ++i) {  // more than the table keeps before it sweeps
    const Tensor t = Tensor::full({16}, i).share_memory();
    places.insert(t.raw_data());
    REQUIRE(t.at<int>({15}) == i);
    REQUIRE(Storage::adopt(t.storage().block()).is_same(t.storage()));
  }
  CHECK(places.size() < 1000);
}

TEST_CASE("A forked child and its parent see each other's writes", "[tensor][fork]") {
  const Tensor shared = Tensor::arange(100).share_memory();
  const Tensor own = Tensor::arange(100);
  const int code = in_child([&] {
    if (shared.at<int>({7}) != 7 || !shared.is_shared()) return 1;
    shared.slice(0, 50, 100).fill_(-5);
    own.fill_(-5);
    if (!Storage::adopt(shared.storage().block()).is_same(shared.storage())) return 2;
    return 0;
  });
  CHECK(code == 0);
  CHECK(shared.at<int>({49}) == 49);
  CHECK(shared.at<int>({50}) == -5);
  CHECK(own.at<int>({50}) == 50);
  const Tensor flag = Tensor::zeros({1}).share_memory();
  flag.fill_(42);
  CHECK(in_child([&] { return flag.item<int>(); }) == 42);
}

TEST_CASE("A child that is forked while another thread shares tensors can share too",
          "[tensor][fork]") {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) Tensor::ones({4}).share_memory();
  });
  int wrong = 0;
  for (int i = 0; i < 30; ++i) {
    if (in_child([i] { return Tensor::full({4}, i).share_memory().at<int>({3}); }) != i) ++wrong;
  }
  stop = true;
  busy.join();
  CHECK(wrong == 0);
}

TEST_CASE("Memory that is not there is a ResourceError", "[tensor]") {
  CHECK_THROWS_AS(Storage::shared(std::size_t{1} << 55), ResourceError);
}

}  // namespace plab
