// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/segment.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "plab/base/error.h"
#include "plab/os/mapping.h"
#include "plab/os/proc.h"
#include "plab/shm/reclaim.h"
#include "support/gate.h"
#include "support/leak_audit.h"

using namespace plab;
using namespace plab::literals;
using shm::Block;
using shm::SegmentName;

namespace {
bool exists(const std::string& name) { return std::filesystem::exists("/dev/shm" + name); }
}  // namespace

TEST_CASE("a stranger maps a named block by its name and sees the data from the first byte",
          "[shm]") {
  const test::LeakAudit audit;
  {
    const auto block = Block::allocate_named(Bytes{10'000});
    for (std::size_t i = 0; i < 10'000; ++i) block.data()[i] = static_cast<std::byte>(i % 253);
    const os::UniqueFd fd(::open(("/dev/shm" + block.name()).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(fd);
    struct stat info {};
    ::fstat(fd.get(), &info);
    CHECK((info.st_mode & 0777) == 0600);
    const auto map = os::Mapping::shared(fd.get(), Bytes{10'000});
    CHECK(std::memcmp(map.data(), block.data(), 10'000) == 0);
    map.data()[9'999] = std::byte{1};
    CHECK(block.data()[9'999] == std::byte{1});
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("the last holder removes the name, whichever process it is", "[shm][fork]") {
  test::Gate dropped;
  auto block = Block::allocate_named(Bytes{100});
  const auto name = block.name();
  auto child = test::run_child([&] {
    if (!dropped.pass() || !exists(name)) return 1;
    block = Block();
    return exists(name) ? 2 : 0;
  });
  block = Block();
  CHECK(exists(name));
  dropped.open();
  CHECK(test::end_of(child) == "exited with code 0");
}

TEST_CASE("a reference under way keeps the name", "[shm]") {
  auto block = Block::allocate_named(Bytes{100});
  block.data()[99] = std::byte{6};
  const auto name = block.name();
  const auto handle = block.send();
  const auto second = block.send();
  block = Block();
  CHECK(exists(name));
  block = Block::receive(handle);
  CHECK(block.data()[99] == std::byte{6});
  CHECK(Block::receive(second).is_same(block));
  Block::discard(block.send());
  const auto last = block.send();
  block = Block();
  Block::discard(last);
  CHECK_FALSE(exists(name));
  CHECK_THROWS_AS((void)Block::receive(last), CorruptError);
}

TEST_CASE("what killed processes leave is swept, what living ones hold is not", "[shm][fork]") {
  const test::SharedByFork<shm::Handle> handle;
  const test::SharedByFork<std::array<char, 128>> names[2];
  test::Gate made;
  auto child = test::run_child([&]() -> int {
    const auto lost = Block::allocate_named(Bytes{5000});
    const auto sent = Block::allocate_named(Bytes{5000});
    std::strcpy(names[0]->data(), lost.name().c_str());
    std::strcpy(names[1]->data(), sent.name().c_str());
    *handle = sent.send();
    made.open();
    for (;;) ::pause();
  });
  REQUIRE(made.pass());
  const std::string lost = names[0]->data();
  const std::string sent = names[1]->data();
  shm::sweep_dead_segments();
  CHECK(exists(lost));
  child.kill(SIGKILL);
  REQUIRE(child.wait(test::patience()));
  CHECK(shm::sweep_dead_segments() >= 1);
  CHECK_FALSE(exists(lost));
  CHECK(exists(sent));  // in a message of a job whose first process lives
  auto block = Block::receive(*handle);
  shm::sweep_dead_segments();
  CHECK(exists(sent));  // held
  block = Block();
  CHECK_FALSE(exists(sent));
}

TEST_CASE("a holder that was killed does not keep the name", "[shm][fork]") {
  auto block = Block::allocate_named(Bytes{100});
  const auto name = block.name();
  auto child = test::run_child([]() -> int {
    for (;;) ::pause();
  });
  child.kill(SIGKILL);
  REQUIRE(child.wait(test::patience()));
  block = Block();
  CHECK_FALSE(exists(name));
}

TEST_CASE("too large for /dev/shm is an error with sizes and advice, and leaves nothing", "[shm]") {
  const auto space = os::dev_shm_space();
  REQUIRE(space);
  const test::LeakAudit audit;
  try {
    (void)Block::allocate_named(Bytes{space->size + 1});
    FAIL("made");
  } catch (const ResourceError& problem) {
    const std::string text = problem.what();
    CHECK(text.find(std::to_string(space->size + 1)) != std::string::npos);
    CHECK(text.find("file_descriptor") != std::string::npos);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("the file size limit is an error, not the signal SIGXFSZ", "[shm][fork]") {
  const test::LeakAudit audit;
  CHECK(test::end_of_child([] {
          const rlimit limit{1 << 20, 1 << 20};
          ::setrlimit(RLIMIT_FSIZE, &limit);
          try {
            (void)Block::allocate_named(2_MiB);
          } catch (const ResourceError&) {
            return Block::allocate_named(64_KiB) ? 0 : 1;
          }
          return 2;
        }) == "exited with code 0");
  CHECK(audit.leaks() == "");
}

TEST_CASE("a name is read back as it was written, and nothing else is taken for one", "[shm]") {
  const SegmentName name{4711, 123456789, 16'777'215, 0xfedcba9876543210};
  SegmentName back;
  REQUIRE(SegmentName::parse(name.text(), back));
  CHECK(back == name);
  CHECK(SegmentName::parse(name.text().substr(1), back));
  for (const char* bad : {"", "/plab_", "/plab_1_2_3", "/plab_1_2_3_x", "/plab_1_2_3_4_5",
                          "/plab_-1_2_3_4", "/torch_1_2_3_4", "/plab_99999999999_2_3_4"}) {
    CHECK_FALSE(SegmentName::parse(bad, back));
  }
}

TEST_CASE("a file of that name that is not a segment is refused", "[shm]") {
  const auto block = Block::allocate_named(Bytes{100});
  auto handle = block.handle();
  handle.arena ^= 1;
  SegmentName name;
  REQUIRE(SegmentName::parse(block.name(), name));
  name.random ^= 1;
  const std::string path = "/dev/shm" + name.text();
  const os::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  for (const off_t size : {0, 1, 4096, 8192, 12'288}) {
    CHECK(::ftruncate(fd.get(), size) == 0);
    CHECK_THROWS_AS((void)Block::receive(handle), CorruptError);
  }
  ::unlink(path.c_str());
}

TEST_CASE("a name whose last holder was killed is swept although its maker lives", "[shm][fork]") {
  auto block = Block::allocate_named(Bytes{100});
  const auto name = block.name();
  auto child = test::run_child([]() -> int {
    for (;;) ::pause();
  });
  block = Block();
  CHECK(exists(name));
  shm::sweep_dead_segments();
  CHECK(exists(name));
  child.kill(SIGKILL);
  REQUIRE(child.wait(test::patience()));
  shm::sweep_dead_segments(shm::SweepScope::kMakerDead);
  CHECK(exists(name));
  shm::sweep_dead_segments();
  CHECK_FALSE(exists(name));
}
