// SPDX-License-Identifier: Apache-2.0
// block.h within one process and across fork; registry.cpp and registry_fork.cpp behind it.
#include "plab/shm/block.h"

#include <sys/resource.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/mapping.h"
#include "plab/os/proc.h"
#include "plab/shm/reclaim.h"
#include "plab/shm/shared.h"
#include "plab/shm/strategy.h"
#include "support/gate.h"
#include "support/leak_audit.h"

using namespace plab;
using namespace plab::literals;
using shm::Block;
using shm::BlockKind;
using shm::Fill;

namespace {

void number(const Block& block, std::uint32_t seed) {
  auto* words = reinterpret_cast<std::uint32_t*>(block.data());
  for (std::size_t i = 0; i < block.bytes() / 4; ++i) {
    words[i] = seed * 1'000'003U + static_cast<std::uint32_t>(i);
  }
}

bool is_numbered(const Block& block, std::uint32_t seed) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(block.data());
  for (std::size_t i = 0; i < block.bytes() / 4; ++i) {
    if (words[i] != seed * 1'000'003U + static_cast<std::uint32_t>(i)) return false;
  }
  return true;
}

bool is_zero(const Block& block) {
  for (std::size_t i = 0; i < block.bytes(); ++i) {
    if (block.data()[i] != std::byte{0}) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a block has its size, is aligned and zero, also when the memory was used before",
          "[shm]") {
  const test::LeakAudit audit;
  for (int round = 0; round < 2; ++round) {
    std::vector<Block> blocks;
    for (const std::size_t bytes : {1, 63, 64, 65, 100, 4095, 4096, 4097, 70'001, 3 << 20}) {
      blocks.push_back(Block::allocate(Bytes{bytes}));
      const Block& block = blocks.back();
      CHECK(block.bytes() == bytes);
      CHECK(reinterpret_cast<std::uintptr_t>(block.data()) % (bytes >= 4096 ? 4096 : 64) == 0);
      CHECK(is_zero(block));
      std::memset(block.data(), 0xff, bytes);
    }
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("blocks do not overlap", "[shm]") {
  std::vector<Block> blocks;
  for (std::uint32_t i = 0; i < 500; ++i) {
    blocks.push_back(
        Block::allocate(Bytes{(i * 7919) % 20'000 + 4}, BlockKind::kPlain, Fill::kNone));
    number(blocks.back(), i);
  }
  for (std::uint32_t i = 0; i < 500; i += 2) blocks[i] = Block();
  for (std::uint32_t i = 0; i < 500; i += 2) {
    blocks[i] = Block::allocate(Bytes{(i * 104'729) % 20'000 + 4});
    number(blocks[i], i);
  }
  for (std::uint32_t i = 0; i < 500; ++i) CHECK(is_numbered(blocks[i], i));
}

TEST_CASE("memory that was freed is used again", "[shm]") {
  auto block = Block::allocate(128_KiB);
  const auto* where = block.data();
  const auto handle = block.handle();
  block = Block();
  block = Block::allocate(128_KiB, BlockKind::kPlain, Fill::kNone);
  CHECK(block.data() == where);
  CHECK(block.handle().generation != handle.generation);
}

TEST_CASE("an empty block needs nothing and can be sent", "[shm]") {
  const auto block = Block::allocate(Bytes{0});
  CHECK_FALSE(block);
  CHECK(block.data() == nullptr);
  CHECK(block.send() == shm::Handle{});
  CHECK_FALSE(Block::receive(shm::Handle{}));
  CHECK_NOTHROW(Block::discard(shm::Handle{}));
}

TEST_CASE("what is received twice in a process is one reference to one memory", "[shm]") {
  auto block = Block::allocate(100_KiB);
  const auto one = block.send();
  const auto two = block.send();
  auto first = Block::receive(one);
  auto second = Block::receive(two);
  CHECK(first.is_same(block));
  CHECK(second.data() == block.data());
  const auto before = shm::stats().blocks_in_use;
  block = Block();
  first = Block();
  CHECK(shm::stats().blocks_in_use == before);
  second = Block();
  CHECK(shm::stats().blocks_in_use == before - 1);
}

TEST_CASE("a reference under way keeps the bytes, and a discarded one does not", "[shm]") {
  auto block = Block::allocate(Bytes{5000});
  number(block, 3);
  const auto before = shm::stats().blocks_in_use;
  const auto handle = block.send();
  block = Block();
  CHECK(shm::stats().blocks_in_use == before);
  block = Block::receive(handle);
  CHECK(is_numbered(block, 3));
  Block::discard(block.send());
  const auto last = block.send();
  block = Block();
  Block::discard(last);
  CHECK(shm::stats().blocks_in_use == before - 1);
  CHECK_THROWS_AS((void)Block::receive(last), CorruptError);
  CHECK_THROWS_AS(Block::discard(last), CorruptError);
}

TEST_CASE("a handle without a reference under way is refused", "[shm]") {
  const auto block = Block::allocate(Bytes{5000});
  CHECK_THROWS_AS((void)Block::receive(block.handle()), CorruptError);
  CHECK_THROWS_AS(Block::discard(block.handle()), CorruptError);
}

TEST_CASE("more memory than there is is refused, with numbers", "[shm]") {
  const auto asked = Bytes{os::memory().total * 3};
  try {
    (void)Block::allocate(asked);
    FAIL("given");
  } catch (const ResourceError& problem) {
    CHECK(std::string(problem.what()).find(std::to_string(asked.count)) != std::string::npos);
    CHECK(std::string(problem.what()).find("available") != std::string::npos);
  }
  CHECK_THROWS_AS((void)Block::allocate(Bytes{SIZE_MAX}), ResourceError);
  CHECK_THROWS_AS((void)Block::allocate(Bytes{64}, static_cast<BlockKind>(77)), ContractError);
  CHECK(Block::allocate(Bytes{64}));
}

TEST_CASE("with little address space arenas are smaller", "[shm][fork]") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("sanitizers need the address space themselves");
#endif
  CHECK(test::end_of_child([] {
          // other tests have arenas in this process already: 1 GiB more than it has now
          const auto pages = std::stoull(os::read_file("/proc/self/statm"));
          const rlim_t most = pages * os::page_size() + (1U << 30U);
          const rlimit limit{most, most};
          ::setrlimit(RLIMIT_AS, &limit);
          std::vector<Block> blocks;
          for (std::uint32_t i = 0; i < 50; ++i) {
            blocks.push_back(Block::allocate(1_MiB));
            number(blocks.back(), i);
          }
          for (std::uint32_t i = 0; i < 50; ++i) {
            if (!is_numbered(blocks[i], i)) return 1;
          }
          return 0;
        }) == "exited with code 0");
}

TEST_CASE("threads allocate, send, receive and free at the same time", "[shm][threads]") {
  const auto shared = Block::allocate(Bytes{4096});
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::vector<Block> mine;
        for (std::uint32_t i = 0; i < 3000; ++i) {
          mine.push_back(Block::allocate(Bytes{64 + (t * 37 + i) % 5000 * 4}));
          number(mine.back(), t * 10'000 + i);
          const auto again = Block::receive(shared.send());
          if (!again.is_same(shared)) ++wrong;
          if (mine.size() < 8) continue;
          const std::size_t victim = i % 8;
          std::swap(mine[victim], mine.back());
          mine.pop_back();
        }
      });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("the last references of two threads go and come at the same time", "[shm][threads]") {
  std::atomic<int> failed{0};
  for (int round = 0; round < 300; ++round) {
    auto block = Block::allocate(Bytes{256});
    const auto handle = block.send();
    std::jthread dropper([&] { block = Block(); });
    try {
      const auto mine = Block::receive(handle);
      if (mine.bytes() != 256) ++failed;
    } catch (const Error&) {
      ++failed;
    }
  }
  CHECK(failed == 0);
}

// --- fork ---------------------------------------------------------------------------------------

TEST_CASE("a forked child keeps what its parent held, whatever the parent does next",
          "[shm][fork]") {
  const test::LeakAudit audit;
  {
    test::Gate dropped;
    std::vector<Block> blocks;
    for (std::uint32_t i = 0; i < 50; ++i) {
      blocks.push_back(Block::allocate(Bytes{1000 + i * 400}));
      number(blocks.back(), i);
    }
    auto child = test::run_child([&] {
      if (!dropped.pass()) return 1;
      for (std::uint32_t i = 0; i < 50; ++i) {
        if (!is_numbered(blocks[i], i)) return 2;
      }
      return 0;
    });
    blocks.clear();
    for (std::uint32_t i = 0; i < 50; ++i) {  // would reuse the memory if it could
      blocks.push_back(Block::allocate(Bytes{1000 + i * 400}));
      number(blocks.back(), i + 777);
    }
    dropped.open();
    CHECK(test::end_of(child) == "exited with code 0");
    shm::sweep_holder(child.pid());
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE(
    "a child allocates in an arena of its own, and its parent can receive from it after its end",
    "[shm][fork]") {
  const auto first = Block::allocate(Bytes{64});
  const test::SharedByFork<shm::Handle> handle;
  CHECK(test::end_of_child([&] {
          const auto block = Block::allocate(Bytes{9000});
          if (block.handle().arena == first.handle().arena) return 1;
          number(block, 42);
          *handle = block.send();
          return 0;
        }) == "exited with code 0");
  const auto block = Block::receive(*handle);  // the sender is dead and reaped
  CHECK(is_numbered(block, 42));
}

TEST_CASE("forking while other threads use shared memory leaves the child in order",
          "[shm][fork]") {
  std::atomic<bool> stop{false};
  const auto kept = Block::allocate(Bytes{4000});
  number(kept, 9);
  std::vector<std::string> ends;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        while (!stop) {
          const auto a = Block::allocate(Bytes{2000});
          const auto b = Block::receive(a.send());
        }
      });
    }
    for (int i = 0; i < 40; ++i) {
      ends.push_back(test::end_of_child([&] {
        const auto own = Block::allocate(Bytes{2000});
        return is_numbered(kept, 9) && is_zero(own) ? 0 : 1;
      }));
    }
    stop = true;
  }
  CHECK(std::set<std::string>(ends.begin(), ends.end()) ==
        std::set<std::string>{"exited with code 0"});
}

TEST_CASE("a child forked without a descriptor to spare keeps its references too", "[shm][fork]") {
  CHECK(test::end_of_child([] {
          test::Gate dropped;
          auto block = Block::allocate(Bytes{6000});
          number(block, 5);
          const auto use = shm::stats().blocks_in_use;
          rlimit limit{};
          ::getrlimit(RLIMIT_NOFILE, &limit);
          limit.rlim_cur = os::open_descriptors().size();
          for (const auto& open : os::open_descriptors()) {
            limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(open.fd) + 1);
          }
          std::vector<os::UniqueFd> fill;  // holes below the limit
          ::setrlimit(RLIMIT_NOFILE, &limit);
          while (fill.emplace_back(::dup(0))) {
          }
          const pid_t pid = ::fork();
          if (pid == 0) {
            ::_exit(dropped.pass() && is_numbered(block, 5) ? 0 : 1);
          }
          block = Block();
          auto next = Block::allocate(Bytes{6000});
          number(next, 6);
          dropped.open();
          auto child = os::Process::adopt(pid, os::UsePidfd::kNever);
          const auto end = test::end_of(child);
          limit.rlim_cur = limit.rlim_max;
          ::setrlimit(RLIMIT_NOFILE, &limit);
          fill.clear();
          shm::sweep_holder(pid);
          next = Block();
          const bool clean = shm::stats().blocks_in_use == use - 1;
          return end == "exited with code 0" && clean ? 0 : 2;
        }) == "exited with code 0");
}

// --- shared objects, strategies -----------------------------------------------------------------

namespace {
struct Counter {
  explicit Counter(int start) : value(start) {}
  std::atomic<int> value;
};
struct Other {
  std::atomic<int> value;
};
}  // namespace

TEST_CASE("an object in shared memory is one for all processes", "[shm][fork]") {
  const auto counter = shm::Shared<Counter>::create(40);
  CHECK(test::end_of_child([&] {
          ++counter->value;
          const auto again = shm::Shared<Counter>::receive(counter.send());
          ++again->value;
          return again.get() == counter.get() ? 0 : 1;
        }) == "exited with code 0");
  CHECK(counter->value == 42);
}

TEST_CASE("a block that holds something else is not taken for the object", "[shm]") {
  const auto counter = shm::Shared<Counter>::create(1);
  CHECK_THROWS_AS((void)shm::Shared<Other>::receive(counter.send()), CorruptError);
  CHECK_THROWS_AS((void)shm::Shared<Counter>::adopt(Block::allocate(Bytes{68})), CorruptError);
  CHECK_THROWS_AS((void)shm::Shared<Counter>::adopt(Block()), CorruptError);
  CHECK(counter->value == 1);
}

TEST_CASE("an unknown strategy fails and leaves the current one", "[shm]") {
  CHECK(shm::sharing_strategies().size() == 2);
  shm::set_sharing_strategy("file_system");
  CHECK_THROWS_AS(shm::set_sharing_strategy("carrier_pigeon"), ContractError);
  CHECK(shm::sharing_strategy() == shm::Strategy::kFileSystem);
  const auto named = Block::allocate_shared(Bytes{100});
  shm::set_sharing_strategy("file_descriptor");
  const auto plain = Block::allocate_shared(Bytes{100});
  CHECK(named.is_named());  // keeps the kind that it was made with
  CHECK_FALSE(plain.is_named());
}
