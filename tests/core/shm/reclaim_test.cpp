// SPDX-License-Identifier: Apache-2.0
// reclaim.h and depot.h: memory after deaths, descriptors after exits.
#include "plab/shm/reclaim.h"

#include <sys/resource.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "plab/base/error.h"
#include "plab/os/proc.h"
#include "plab/os/socket.h"
#include "plab/shm/block.h"
#include "plab/shm/depot.h"
#include "support/gate.h"
#include "support/leak_audit.h"

using namespace plab;
using namespace plab::literals;
using namespace std::chrono_literals;
using shm::Block;

namespace {

int forever() {
  for (;;) ::pause();
}

// Runs `body` in a process whose descriptors are limited to `most`.
int with_descriptors(rlim_t most, const std::function<int()>& body) {
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return body();
}

}  // namespace

TEST_CASE("10,000 live blocks are sent to another process within 128 descriptors", "[shm][fork]") {
  constexpr std::uint32_t kCount = 10'000;
  const auto end = test::end_of_child([] {
    return with_descriptors(128, [] {
      auto pipe = os::create_pipe();
      test::Gate checked;
      auto receiver = test::run_child([&] {
        std::vector<Block> blocks;
        for (std::uint32_t i = 0; i < kCount; ++i) {
          shm::Handle handle;
          const auto bytes = std::as_writable_bytes(std::span(&handle, 1));
          if (os::read_full(pipe.read.get(), bytes, test::patience()) != bytes.size()) return 1;
          blocks.push_back(Block::receive(handle));
        }
        for (std::uint32_t i = 0; i < kCount; ++i) {
          if (*reinterpret_cast<const std::uint32_t*>(blocks[i].data()) != i * 31) return 2;
        }
        if (shm::stats().blocks_held < kCount) return 3;
        if (os::open_descriptors().size() > 64) return 4;
        checked.open();
        return 0;
      });
      std::vector<Block> blocks;  // after the fork: the receiver knows none of them
      for (std::uint32_t i = 0; i < kCount; ++i) {
        blocks.push_back(Block::allocate(Bytes{400 + i % 5000}));
        *reinterpret_cast<std::uint32_t*>(blocks.back().data()) = i * 31;
        const auto handle = blocks.back().send();
        os::write_full(pipe.write.get(), std::as_bytes(std::span(&handle, 1)), test::patience());
      }
      if (!checked.pass()) return 5;
      if (os::open_descriptors().size() > 64) return 6;
      return test::end_of(receiver) == "exited with code 0" ? 0 : 7;
    });
  });
  CHECK(end == "exited with code 0");
}

TEST_CASE("a killed holder's memory comes back to the owner", "[shm][fork]") {
  test::Gate has;
  auto block = Block::allocate(8_MiB);
  std::memset(block.data(), 7, block.bytes());
  shm::collect();
  const auto before = shm::stats();
  auto child = test::run_child([&] {
    has.open();
    return forever();
  });
  REQUIRE(has.pass());
  block = Block();
  CHECK(shm::stats().blocks_in_use == before.blocks_in_use);  // the child has it
  child.kill(SIGKILL);
  REQUIRE(child.wait(test::patience()));
  shm::sweep_holder(child.pid());
  CHECK(shm::stats().blocks_in_use == before.blocks_in_use - 1);
  shm::collect();
  CHECK(shm::stats().bytes_resident + 8'000'000 < before.bytes_resident);
}

TEST_CASE("a killed owner's memory stays for its holders and goes with the last of them",
          "[shm][fork]") {
  shm::collect();
  const auto before = shm::stats();
  const test::SharedByFork<shm::Handle> handle;
  test::Gate sent;
  auto owner = test::run_child([&] {
    const auto block = Block::allocate(16_MiB);
    std::memset(block.data(), 5, block.bytes());
    *handle = block.send();
    sent.open();
    return forever();
  });
  REQUIRE(sent.pass());
  owner.kill(SIGKILL);
  REQUIRE(owner.wait(test::patience()));
  shm::sweep_holder(owner.pid());
  shm::collect();
  auto block = Block::receive(*handle);
  CHECK(block.data()[16'000'000] == std::byte{5});
  CHECK(shm::stats().depot_entries == before.depot_entries + 1);
  CHECK(shm::stats().bytes_resident >= before.bytes_resident + 16'000'000);
  block = Block();
  CHECK(shm::stats().bytes_resident < before.bytes_resident + 1'000'000);  // punched at once
  shm::collect();
  CHECK(shm::stats().depot_entries == before.depot_entries);
  CHECK(shm::stats().arenas_mapped == before.arenas_mapped);
}

TEST_CASE("an owner that is gone without a trace leaves no arena in the log", "[shm][fork]") {
  (void)Block::allocate(Bytes{64});
  shm::collect();
  const auto before = shm::stats().depot_entries;
  for (int i = 0; i < 3; ++i) {
    auto child = test::run_child([] {
      const auto block = Block::allocate(1_MiB);
      std::memset(block.data(), 1, block.bytes());
      ::kill(::getpid(), SIGKILL);
      return 0;
    });
    CHECK(test::end_of(child) == "killed by SIGKILL");
    CHECK(shm::stats().depot_entries == before + 1);
    shm::sweep_holder(child.pid());
    CHECK(shm::stats().depot_entries == before);
  }
}

TEST_CASE("a sweep reaches arenas that the sweeper does not know", "[shm][fork]") {
  test::Gate has;
  test::Gate swept;
  const test::SharedByFork<std::atomic<int>> holder(0);
  auto owner = test::run_child([&] {
    auto block = Block::allocate(2_MiB);
    const auto use = shm::stats().blocks_in_use;
    auto child = test::run_child([&] {
      *holder = ::getpid();
      has.open();
      return forever();
    });
    block = Block();
    if (shm::stats().blocks_in_use != use) return 1;
    if (!has.pass()) return 2;
    child.kill(SIGKILL);
    (void)child.wait(test::patience());
    swept.open();
    // Nobody here sweeps; the grandparent does.
    const auto deadline = test::patience();
    while (shm::stats().blocks_in_use == use) {
      if (deadline.expired()) return 3;
      std::this_thread::yield();
    }
    return 0;
  });
  REQUIRE(swept.pass());
  shm::sweep_holder(holder->load());
  CHECK(test::end_of(owner) == "exited with code 0");
}

TEST_CASE("kills at random moments never free what is used, and all comes back in the end",
          "[shm][fork]") {
  shm::collect();
  const auto before = shm::stats();
  std::mt19937 random(20240607);
  auto block = Block::allocate(Bytes{20'000});
  std::memset(block.data(), 0x5a, block.bytes());
  int wrong = 0;
  for (int round = 0; round < 60; ++round) {
    const test::SharedByFork<std::atomic<std::uint32_t>> progress(0U);
    auto child = test::run_child([&] {
      std::vector<Block> mine;
      for (;;) {
        mine.push_back(Block::receive(block.send()));
        mine.push_back(Block::allocate(Bytes{3000}));
        mine.push_back(Block::receive(mine.back().send()));
        if (mine.size() > 20) mine.clear();
        progress->fetch_add(1);
      }
      return 0;
    });
    const std::uint32_t steps = random() % 400;
    const auto deadline = test::patience();
    while (progress->load() < steps && !deadline.expired()) std::this_thread::yield();
    child.kill(SIGKILL);
    REQUIRE(child.wait(test::patience()));
    shm::sweep_holder(child.pid());
    for (std::size_t i = 0; i < block.bytes(); ++i) wrong += block.data()[i] != std::byte{0x5a};
  }
  CHECK(wrong == 0);
  // A kill between counting a message and receiving it leaves a count, and so the block; only that.
  block = Block();
  shm::collect();
  CHECK(shm::stats().blocks_in_use <= before.blocks_in_use + 1);
  CHECK(shm::stats().arenas_owned == before.arenas_owned + (before.arenas_owned == 0 ? 1 : 0));
}

namespace {
std::atomic<int>* g_finalized = nullptr;
void count_finalized(std::byte* data, std::size_t bytes) {
  if (bytes == 777) *g_finalized += static_cast<int>(*data);
}
}  // namespace

TEST_CASE("a finalizer runs once, in the last process that lets go, before the memory is reused",
          "[shm][fork]") {
  const test::SharedByFork<std::atomic<int>> finalized(0);
  g_finalized = finalized.get();
  shm::set_finalizer(shm::BlockKind::kRing, &count_finalized);
  {
    auto block = Block::allocate(Bytes{777}, shm::BlockKind::kRing);
    block.data()[0] = std::byte{1};
    block = Block();
    CHECK(*finalized == 1);
  }
  auto block = Block::allocate(Bytes{777}, shm::BlockKind::kRing);
  block.data()[0] = std::byte{10};
  test::Gate dropped;
  auto child = test::run_child([&] {
    if (!dropped.pass()) return 1;
    if (*finalized != 1) return 2;
    block = Block();
    return *finalized == 11 ? 0 : 3;
  });
  block = Block();
  dropped.open();
  CHECK(test::end_of(child) == "exited with code 0");
  // A holder that is killed: whoever sweeps runs it.
  block = Block::allocate(Bytes{777}, shm::BlockKind::kRing);
  block.data()[0] = std::byte{100};
  auto killed = test::run_child(&forever);
  block = Block();
  CHECK(*finalized == 11);
  killed.kill(SIGKILL);
  REQUIRE(killed.wait(test::patience()));
  shm::sweep_holder(killed.pid());
  CHECK(*finalized == 111);
  // One that discards a reference of its own, as a ring with unread messages does.
  static shm::Handle inner;
  auto passenger = Block::allocate(Bytes{1234});
  inner = passenger.send();
  passenger = Block();
  const auto use = shm::stats().blocks_in_use;
  shm::set_finalizer(shm::BlockKind::kRing,
                     [](std::byte*, std::size_t) { Block::discard(std::exchange(inner, {})); });
  (void)Block::allocate(Bytes{777}, shm::BlockKind::kRing);
  CHECK(shm::stats().blocks_in_use == use - 1);
  shm::set_finalizer(shm::BlockKind::kRing, nullptr);
}

TEST_CASE("cached memory is bounded and collect gives it back", "[shm]") {
  shm::collect();
  {
    std::vector<Block> blocks;
    for (int i = 0; i < 12; ++i) {
      blocks.push_back(Block::allocate(8_MiB, shm::BlockKind::kPlain, shm::Fill::kNone));
      std::memset(blocks.back().data(), 1, blocks.back().bytes());
    }
    CHECK(shm::stats().bytes_resident >= 96'000'000);
  }
  CHECK(shm::stats().bytes_cached <= (64U << 20U));
  CHECK(shm::stats().bytes_resident < 90'000'000);
  shm::collect();
  CHECK(shm::stats().bytes_cached == 0);
  const auto fresh = Block::allocate(8_MiB);
  CHECK(fresh.data()[4711] == std::byte{0});
}

TEST_CASE("a receiver at its descriptor limit gets an error, and the block once it has room",
          "[shm][fork]") {
  const test::SharedByFork<shm::Handle> handle;
  CHECK(test::end_of_child([&] {
          const auto block = Block::allocate(Bytes{100});
          block.data()[99] = std::byte{9};
          *handle = block.send();
          return 0;
        }) == "exited with code 0");
  CHECK(test::end_of_child([&] {
          std::vector<os::UniqueFd> fill;
          const rlimit few{40, 64};
          ::setrlimit(RLIMIT_NOFILE, &few);
          while (fill.emplace_back(::dup(0))) {
          }
          bool refused = false;
          try {
            (void)Block::receive(*handle);
          } catch (const ResourceError& problem) {
            refused = std::string(problem.what()).find("40") != std::string::npos;
          }
          fill.clear();
          const auto block = Block::receive(*handle);
          return refused && block.data()[99] == std::byte{9} ? 0 : 1;
        }) == "exited with code 0");
  shm::collect();
}

TEST_CASE("100,000 damaged handles are refused without a crash", "[shm]") {
  std::mt19937_64 random(99);
  const auto block = Block::allocate(Bytes{5000});
  const auto named = Block::allocate_named(Bytes{5000});
  const shm::Handle good[] = {block.handle(), named.handle()};
  int refused = 0;
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    shm::Handle handle = good[random() % 16 == 0];
    auto* bytes = reinterpret_cast<unsigned char*>(&handle);
    for (std::uint64_t n = random() % 4 + 1; n > 0; --n) {
      bytes[random() % sizeof(handle)] ^= static_cast<unsigned char>(1U << random() % 8);
    }
    try {
      random() % 2 == 0 ? (void)Block::receive(handle) : Block::discard(handle);
      ++taken;
    } catch (const CorruptError&) {
      ++refused;
    }
  }
  CHECK(taken == 0);
  CHECK(refused == 100'000);
  CHECK(block.data()[0] == std::byte{0});
}

TEST_CASE("damaged numbers with a reference under way are refused too, and it stays",
          "[shm][fork]") {
  const test::SharedByFork<shm::Handle> sent;
  CHECK(test::end_of_child([&] {
          *sent = Block::allocate(Bytes{5000}).send();
          return 0;
        }) == "exited with code 0");
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    shm::Handle handle = *sent;
    auto* bytes = reinterpret_cast<unsigned char*>(&handle);
    bytes[8 + random() % (sizeof(handle) - 8)] ^= static_cast<unsigned char>(1U << random() % 8);
    CHECK_THROWS_AS((void)Block::receive(handle), CorruptError);
  }
  CHECK(Block::receive(*sent).bytes() == 5000);
  shm::collect();
}

TEST_CASE("the depot refuses descriptors that are not a depot's, and a second job", "[shm]") {
  const auto pipe = os::create_pipe();
  const auto copies = [](std::array<int, 3> numbers) {
    std::array<os::UniqueFd, 3> owners;
    for (std::size_t i = 0; i < 3; ++i) owners[i] = os::UniqueFd(::dup(numbers[i]));
    return owners;
  };
  CHECK_THROWS_AS(shm::Depot::adopt(copies({pipe.read.get(), pipe.read.get(), pipe.write.get()})),
                  CorruptError);
  CHECK_NOTHROW(shm::Depot::adopt(copies(shm::Depot::descriptors())));  // the same: nothing to do
  auto other = shm::Depot::create();
  CHECK_THROWS_AS(shm::Depot::adopt(copies(other.numbers())), ContractError);
}

TEST_CASE("the log keeps what is wanted when it is compacted", "[shm]") {
  auto depot = shm::Depot::create();
  const auto self = os::self_identity();
  for (std::uint64_t id = 1; id <= 200; ++id) {
    const auto fd = os::create_pipe();
    depot.append(id, self, fd.read.get());
  }
  CHECK(depot.entries() == 200);
  depot.append(77, self, 0);  // twice, as after a kill in compact()
  depot.compact([](const shm::Depot::Entry& entry) { return entry.arena % 3 != 0; });
  CHECK(depot.entries() == 134);
  CHECK(depot.find(77).has_value());
  CHECK(depot.find(200).has_value());
  CHECK_FALSE(depot.find(3).has_value());
  for (int i = 0; i < 5; ++i) depot.compact([](const auto&) { return true; });
  CHECK(depot.entries() == 134);
}

TEST_CASE("a log that is full says so", "[shm]") {
  auto depot = shm::Depot::create();
  const auto pipe = os::create_pipe();
  bool full = false;
  for (std::uint64_t id = 1; id < 100'000 && !full; ++id) {
    try {
      depot.append(id, os::self_identity(), pipe.read.get());
    } catch (const ResourceError&) {
      full = true;
      CHECK(depot.find(1).has_value());
    }
  }
  CHECK(full);
}

TEST_CASE("an arena serves 256 processes; one more is told so", "[shm][fork]") {
  const auto block = Block::allocate(Bytes{100});
  const test::SharedByFork<std::atomic<int>> registered(0);
  test::Gate end;
  std::vector<os::Process> children;
  for (int i = 0; i < 255; ++i) {
    children.push_back(test::run_child([&] {
      registered->fetch_add(1);
      return end.pass() ? 0 : 1;
    }));
  }
  CHECK_THROWS_AS(shm::ensure_room_for_child(), ResourceError);
  // A fork all the same: the child cannot keep the bytes alive and says so.
  CHECK(test::end_of_child([] { return 0; }) == "exited with code 71");
  end.open();
  for (auto& child : children) CHECK(test::end_of(child) == "exited with code 0");
  CHECK(registered->load() == 255);
  CHECK_NOTHROW(shm::ensure_room_for_child());  // sweeps the dead
  CHECK(test::end_of_child([] { return 0; }) == "exited with code 0");
}
