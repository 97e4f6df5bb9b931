// SPDX-License-Identifier: Apache-2.0
#include "plab/base/timeline.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "plab/base/error.h"
#include "plab/base/timeline_export.h"
#include "plab/base/timeline_reader.h"

namespace tl = plab::timeline;

namespace {

// A ring in the memory of this test; the timeline is on while it lives.
class RingOnHeap {
 public:
  explicit RingOnHeap(std::uint64_t capacity) {
    s_capacity = capacity;
    tl::turn_on({.open = open,
                 .thread_id = []() noexcept { return static_cast<std::uint32_t>(gettid()); }});
  }
  ~RingOnHeap() {
    tl::turn_off();
    s_memory.reset();
  }
  RingOnHeap(const RingOnHeap&) = delete;
  RingOnHeap& operator=(const RingOnHeap&) = delete;

  [[nodiscard]] static std::span<std::byte> bytes() {
    return {reinterpret_cast<std::byte*>(s_memory.get()), tl::ring_bytes(s_capacity)};
  }
  [[nodiscard]] static tl::ProcessTrack read() { return tl::read_ring(bytes(), bytes(), "ring"); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static tl::RingHeader* open() noexcept {
    s_memory = std::make_unique<Line[]>(tl::ring_bytes(s_capacity) / sizeof(Line) + 1);
    return tl::make_ring(bytes(), s_capacity,
                         {.pid = 71, .parent_pid = 70, .start_time = 5, .name = "prog"});
  }
  static inline std::uint64_t s_capacity = 0;
  static inline std::unique_ptr<Line[]> s_memory;
};

}  // namespace

TEST_CASE("nothing is kept while the timeline is off", "[base][timeline]") {
  CHECK_FALSE(tl::enabled());
  tl::record({.kind = tl::Kind::kMark, .label = "lost"});
  tl::name_process("nobody");
  tl::record_exit(3);
  CHECK_FALSE(tl::enabled());
}

TEST_CASE("what is recorded is read back, with name, thread and exit", "[base][timeline]") {
  const RingOnHeap ring(64);
  tl::record({.kind = tl::Kind::kPut, .label = "queue", .id = 41, .value = 7});
  { const tl::Span span("work", 3, -9); }
  tl::record({.kind = tl::Kind::kLockWait, .label = "m", .start_ns = 1000, .duration_ns = 17});
  tl::name_thread("feeder");
  tl::name_process("rank 1");
  tl::record_exit(12);
  tl::record_exit(13);  // only the first one counts
  const auto track = RingOnHeap::read();
  CHECK(track.pid == 71);
  CHECK(track.parent_pid == 70);
  CHECK(track.name == "rank 1");
  CHECK(track.end == tl::End::kExited);
  CHECK(track.exit_code == 12);
  REQUIRE(track.events.size() == 6);
  CHECK(track.events[0].kind == tl::Kind::kStart);
  CHECK(track.events[0].label == "prog");
  CHECK(track.events[1].kind == tl::Kind::kPut);
  CHECK(track.events[1].id == 41);
  CHECK(track.events[1].value == 7);
  CHECK(track.events[1].tid == static_cast<std::uint32_t>(gettid()));
  CHECK(track.events[2].label == "work");
  CHECK(track.events[2].value == -9);
  CHECK(track.events[2].start_ns >= track.events[1].start_ns);
  CHECK(track.events[3].duration_ns == 17);
  CHECK(track.events[4].label == "feeder");
  CHECK(track.torn + track.dropped + track.overwritten == 0);
}

TEST_CASE("a long label is cut and an empty one stays empty", "[base][timeline]") {
  const RingOnHeap ring(8);
  tl::record({.label = std::string(300, 'x')});
  tl::record({.label = ""});
  const auto track = RingOnHeap::read();
  REQUIRE(track.events.size() == 3);
  CHECK(track.events[1].label == std::string(tl::kLabelBytes, 'x'));
  CHECK(track.events[2].label.empty());
}

TEST_CASE("a full ring overwrites the oldest events and says how many", "[base][timeline]") {
  const RingOnHeap ring(8);
  for (int i = 0; i < 100; ++i) tl::record({.label = "n", .value = i});
  const auto track = RingOnHeap::read();
  REQUIRE(track.events.size() == 8);
  CHECK(track.overwritten == 93);  // 100 and the start
  for (std::size_t i = 0; i < 8; ++i) CHECK(track.events[i].value == 92 + static_cast<int>(i));
}

TEST_CASE("threads that share a ring lose no event and mix none", "[base][timeline][threads]") {
  constexpr int kThreads = 4;
  constexpr int kEach = 3000;
  const RingOnHeap ring(1U << 14U);
  tl::record({.label = "open"});  // while one thread opens the ring, the others' events are lost
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kEach; ++i) {
        const auto id = static_cast<std::uint64_t>(t * kEach + i + 1);
        tl::record({.label = std::to_string(id), .id = id, .value = static_cast<int>(id) * 3});
      }
    });
  }
  threads.clear();
  const auto track = RingOnHeap::read();
  CHECK(track.dropped == 0);
  CHECK(track.events.size() + track.torn == kThreads * kEach + 2);
  std::vector<int> seen(kThreads * kEach + 1, 0);
  bool whole = true;
  for (const auto& event : track.events) {
    if (event.id == 0) continue;
    ++seen[event.id];
    whole = whole && event.label == std::to_string(event.id) &&
            event.value == static_cast<std::int64_t>(event.id) * 3;
  }
  CHECK(whole);
  CHECK(track.torn == 0);
  CHECK(std::ranges::count(seen, 1) == kThreads * kEach);
}

TEST_CASE("threads that lap each other in a tiny ring leave only whole records",
          "[base][timeline][threads]") {
  const RingOnHeap ring(4);
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([t] {
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        tl::record({.label = std::string(t * 5, static_cast<char>('a' + t)),
                    .id = t,
                    .value = static_cast<std::int64_t>(t * 1000)});
      }
    });
  }
  threads.clear();
  const auto track = RingOnHeap::read();
  bool whole = true;
  for (const auto& event : track.events) {
    whole = whole && event.label == std::string(event.id * 5, static_cast<char>('a' + event.id)) &&
            event.value == static_cast<std::int64_t>(event.id * 1000);
  }
  CHECK(whole);
  CHECK(track.events.size() <= 4);
}

TEST_CASE("a record that its writer did not finish is counted, not shown", "[base][timeline]") {
  const RingOnHeap ring(8);
  for (int i = 0; i < 3; ++i) tl::record({.label = "n", .value = i});
  auto bytes = RingOnHeap::bytes();
  auto* const records = reinterpret_cast<tl::Record*>(bytes.data() + sizeof(tl::RingHeader));
  records[2].sequence = 2 * 2 + 1;  // as a process leaves it that is killed in between
  auto track = RingOnHeap::read();
  CHECK(track.torn == 1);
  CHECK(track.events.size() == 3);
  CHECK(track.end == tl::End::kKilled);

  std::vector<std::byte> first(bytes.begin(), bytes.end());
  records[1].sequence = 2 * 9 + 1;  // changed between the two copies
  track = tl::read_ring(first, bytes, "ring");
  CHECK(track.torn == 2);
  records[2].sequence = 2 * 2 + 2;
  records[1].sequence = 2 * 1 + 2;
}

TEST_CASE("a damaged ring is an error that names what is wrong", "[base][timeline]") {
  const RingOnHeap ring(8);
  tl::record({.label = "n"});
  const auto whole = RingOnHeap::bytes();
  std::vector<std::byte> bytes(whole.begin(), whole.end());
  const auto refused = [&](std::size_t offset, std::uint64_t value, std::size_t size) {
    std::vector<std::byte> bad = bytes;
    std::memcpy(bad.data() + offset, &value, size);
    try {
      static_cast<void>(tl::read_ring(bad, bad, "x.ring"));
    } catch (const plab::CorruptError& error) {
      return std::string(error.what()).find("x.ring") != std::string::npos;
    }
    return false;
  };
  const std::size_t record = sizeof(tl::RingHeader) + sizeof(tl::Record);
  CHECK(refused(offsetof(tl::RingHeader, magic), 1, 8));
  CHECK(refused(offsetof(tl::RingHeader, version), 2, 4));
  CHECK(refused(offsetof(tl::RingHeader, record_bytes), 64, 4));
  CHECK(refused(offsetof(tl::RingHeader, capacity), 16, 8));
  CHECK(refused(offsetof(tl::RingHeader, capacity), 7, 8));
  CHECK(refused(offsetof(tl::RingHeader, capacity), ~std::uint64_t{0}, 8));
  CHECK(refused(offsetof(tl::RingHeader, next), ~std::uint64_t{0}, 8));
  CHECK(refused(record + offsetof(tl::Record, kind), 0, 1));
  CHECK(refused(record + offsetof(tl::Record, kind), tl::kLastKind + 1, 1));
  CHECK(refused(record + offsetof(tl::Record, label_bytes), 51, 1));
  CHECK(refused(record + offsetof(tl::Record, start_ns), ~std::uint64_t{0}, 8));
  CHECK(refused(record + offsetof(tl::Record, duration_ns), ~std::uint64_t{0} >> 1U, 8));
  CHECK_THROWS_AS(tl::read_ring({}, {}, "x"), plab::CorruptError);
  CHECK_THROWS_AS(tl::read_ring(std::span(bytes).first(bytes.size() - 1), bytes, "x"),
                  plab::CorruptError);
}

TEST_CASE("100,000 mutated rings are read or refused, never a crash", "[base][timeline][fuzz]") {
  const RingOnHeap ring(16);
  for (int i = 0; i < 40; ++i) {
    tl::record({.kind = i % 2 == 0 ? tl::Kind::kPut : tl::Kind::kSpan,
                .label = "event " + std::to_string(i),
                .id = static_cast<std::uint64_t>(i),
                .duration_ns = i % 2 == 0 ? 0 : i});
  }
  const auto whole = RingOnHeap::bytes();
  const std::vector<std::byte> bytes(whole.begin(), whole.end());
  std::mt19937 random(20'240'611);
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::byte> bad = bytes;
    for (std::uint32_t k = random() % 4 + 1; k > 0; --k) {
      // half of the changes in the header and the first record, where the numbers are
      const std::size_t reach = random() % 2 == 0 ? 352 : bad.size();
      bad[random() % reach] = static_cast<std::byte>(random());
    }
    if (random() % 8 == 0) bad.resize(random() % (bad.size() + 1));
    try {
      tl::Timeline timeline;
      timeline.processes.push_back(tl::read_ring(bad, bad, "mutant"));
      if (i % 50 == 0) {
        CHECK(tl::to_chrome_json(timeline).ends_with("]}\n"));
        CHECK_FALSE(tl::to_html(timeline, "mutant").empty());
      }
      ++read;
    } catch (const plab::CorruptError&) {
      ++refused;
    }
  }
  CHECK(read + refused == 100'000);
  CHECK(read > 10'000);
  CHECK(refused > 10'000);
}

TEST_CASE("a ring of another size than its memory is refused", "[base][timeline]") {
  alignas(64) static std::byte memory[tl::ring_bytes(2)];
  CHECK_THROWS_AS(tl::make_ring(memory, 3, {}), plab::ContractError);
  CHECK_THROWS_AS(tl::make_ring(memory, 4, {}), plab::ContractError);
  CHECK_THROWS_AS(tl::make_ring(std::span(memory).subspan(1), 2, {}), plab::ContractError);
  CHECK_THROWS_AS(tl::make_ring({}, 0, {}), plab::ContractError);
  const auto* const ring = tl::make_ring(memory, 2, {.name = std::string(100, 'n')});
  CHECK(std::string(ring->name) == std::string(tl::kNameBytes - 1, 'n'));
}
