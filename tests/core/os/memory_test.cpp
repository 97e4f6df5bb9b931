// SPDX-License-Identifier: Apache-2.0
// mapping.h, memfd.h and futex.h
#include <sys/resource.h>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstring>

#include "plab/base/error.h"
#include "plab/os/futex.h"
#include "plab/os/mapping.h"
#include "plab/os/memfd.h"
#include "plab/os/random.h"
#include "plab/os/thread.h"
#include "support/gate.h"
#include "support/leak_audit.h"

#include <unistd.h>

using namespace plab;
using namespace plab::literals;
using namespace std::chrono_literals;
using os::Mapping;

TEST_CASE("two mappings of one memfd are the same memory, in parent and child", "[os][fork]") {
  const test::LeakAudit audit;
  {
    const auto fd = os::create_memfd("test", 64_KiB);
    const auto one = Mapping::shared(fd.get(), 64_KiB);
    const auto two = Mapping::shared(fd.get(), 4_KiB, os::Access::kRead, 4096);
    std::memcpy(one.data() + 4096, "parent", 7);
    CHECK(std::strcmp(reinterpret_cast<const char*>(two.data()), "parent") == 0);
    CHECK(test::end_of_child([&] {
            std::memcpy(one.data() + 4096, "child!", 7);
            return 0;
          }) == "exited with code 0");
    CHECK(std::strcmp(reinterpret_cast<const char*>(two.data()), "child!") == 0);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("punched pages go back to the system and read as zero", "[os]") {
  const auto fd = os::create_memfd("test", 1_MiB);
  CHECK(os::file_use(fd.get()).allocated == 0);
  auto map = Mapping::shared(fd.get(), 1_MiB);
  std::memset(map.data(), 7, map.size());
  CHECK(os::file_use(fd.get()).allocated == map.size());
  REQUIRE(map.punch(4096 * 3 + 1, 4096 * 8));  // only the 7 whole pages inside
  CHECK(os::file_use(fd.get()).allocated == map.size() - 7 * 4096);
  CHECK(map.data()[4096 * 4] == std::byte{0});
  CHECK(map.data()[4096 * 4 - 1] == std::byte{7});
  CHECK(map.punch(5, 10));                // no whole page: nothing to do
  CHECK_FALSE(map.punch(map.size(), 1));  // outside
  CHECK_FALSE(map.punch(1, SIZE_MAX));
}

TEST_CASE("memory marked so is not in a forked child", "[os][fork]") {
  auto map = Mapping::anonymous(4_KiB);
  map.set_dump(os::Dump::kNo);
  map.set_forked_child(os::ForkedChild::kLacks);
  CHECK(test::end_of_child([&] {
          const rlimit none{0, 0};
          ::setrlimit(RLIMIT_CORE, &none);
          return static_cast<int>(*static_cast<volatile std::byte*>(map.data()));
        }) != "exited with code 0");
}

TEST_CASE("mapping nothing is a contract error; too much is a resource error", "[os]") {
  CHECK_THROWS_AS((void)Mapping::anonymous(Bytes{0}), ContractError);
  CHECK_THROWS_AS((void)Mapping::anonymous(Bytes{std::size_t{1} << 60U}), ResourceError);
  CHECK_THROWS_AS((void)Mapping::shared(-1, 4_KiB), SystemError);
}

TEST_CASE("a memfd over the file size limit is an error, not the signal SIGXFSZ", "[os]") {
  CHECK(test::end_of_child([] {
          const rlimit limit{1 << 20, 1 << 20};
          ::setrlimit(RLIMIT_FSIZE, &limit);
          try {
            (void)os::create_memfd("test", 2_MiB);
          } catch (const ResourceError&) {
            return 0;
          }
          return 1;
        }) == "exited with code 0");
}

TEST_CASE("a futex wait ends by a wake in another process, a changed word, or its deadline",
          "[os][fork]") {
  const test::SharedByFork<std::atomic<std::uint32_t>> word(5U);
  CHECK(os::futex_wait(*word, 4, Deadline::never()) == os::FutexResult::kChanged);
  CHECK(os::futex_wait(*word, 5, Deadline::after(1ms)) == os::FutexResult::kTimedOut);
  CHECK(os::futex_wait(*word, 5, Deadline::passed()) == os::FutexResult::kTimedOut);
  auto child = test::run_child([&] {
    while (word->load() == 5) {
      if (os::futex_wait(*word, 5, test::patience()) == os::FutexResult::kTimedOut) return 1;
    }
    return 0;
  });
  word->store(6);
  os::futex_wake(*word, os::kWakeAll);
  CHECK(test::end_of(child) == "exited with code 0");
}

TEST_CASE("pid and tid are right in a forked child", "[os][fork]") {
  CHECK(os::current_pid() == ::getpid());
  CHECK(os::current_tid() == ::gettid());
  CHECK(test::end_of_child([] {
          return os::current_pid() == ::getpid() && os::current_tid() == ::gettid() ? 0 : 1;
        }) == "exited with code 0");
  CHECK(os::random_u64() != os::random_u64());
}
