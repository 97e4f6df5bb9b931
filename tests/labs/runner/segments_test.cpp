// SPDX-License-Identifier: Apache-2.0
#include "segments.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <set>

#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/os/unique_fd.h"
#include "plab/shm/segment.h"

namespace plab::lab {
namespace {

TEST_CASE("a segment that a living process holds is left alone; one that nobody holds is removed",
          "[lab][supervise]") {
  const std::string name = fmt::format("segments_test_{}", ::getpid());
  const std::string path = "/dev/shm/" + name;
  const SegmentAudit before;
  const auto named = [&](const SegmentAudit& audit = SegmentAudit()) {
    for (const std::string& text : audit.remove_left({})) {
      if (text == path + " (8192 bytes)") return true;
    }
    return false;
  };
  os::UniqueFd open(::shm_open(("/" + name).c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
  REQUIRE(open.get() >= 0);
  REQUIRE(::ftruncate(open.get(), 8192) == 0);
  CHECK_FALSE(named(before));  // by its descriptor
  void* const mapped = ::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, open.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  open.reset();
  CHECK_FALSE(named(before));  // by its mapping
  CHECK(std::filesystem::exists(path));
  ::munmap(mapped, 8192);
  CHECK_FALSE(named());  // it is not new to an audit that is made now
  CHECK(named(before));
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a segment of plab's is removed when a process of the run has made it, only then",
          "[lab][supervise]") {
  const SegmentAudit audit;
  const auto named = [&](const std::set<int>& members) {
    const std::string name = shm::SegmentName{4711, 815, 7, 1234567}.text();
    os::UniqueFd open(::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
    REQUIRE(open.get() >= 0);
    open.reset();
    bool found = false;
    for (const std::string& text : audit.remove_left(members)) {
      found = found || text == "/dev/shm" + name + " (0 bytes), made by process 4711";
    }
    ::shm_unlink(name.c_str());
    return found;
  };
  CHECK_FALSE(named({}));
  CHECK_FALSE(named({4710, 4712}));
  CHECK(named({4710, 4711}));
}

TEST_CASE("a lab's name is of the process that its first number says", "[lab][supervise]") {
  const SegmentAudit audit;
  const std::string name = fmt::format("plab-test99-4711-815-7-{}", ::getpid());
  const auto found = [&](const std::set<int>& members) {
    os::UniqueFd open(::shm_open(("/" + name).c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
    REQUIRE(open.get() >= 0);
    open.reset();
    const bool removed = !audit.remove_left(members).empty();
    ::shm_unlink(("/" + name).c_str());
    return removed;
  };
  CHECK_FALSE(found({}));
  CHECK_FALSE(found({815, 7, 99}));  // a counter may be anybody's pid
  CHECK(found({4711}));
}

}  // namespace
}  // namespace plab::lab
