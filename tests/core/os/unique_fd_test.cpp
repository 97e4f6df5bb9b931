// SPDX-License-Identifier: Apache-2.0
#include "plab/os/unique_fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <catch2/catch_test_macros.hpp>

#include "plab/base/error.h"
#include "plab/os/pipe.h"
#include "support/gate.h"
#include "support/leak_audit.h"

using namespace plab;
using os::UniqueFd;

TEST_CASE("a descriptor is closed by its last owner only", "[os]") {
  const test::LeakAudit audit;
  {
    auto pipe = os::create_pipe();
    const int number = pipe.read.get();
    UniqueFd moved(std::move(pipe.read));
    CHECK_FALSE(pipe.read);
    CHECK(moved.get() == number);
    CHECK(os::is_open(number));
    moved = UniqueFd();
    CHECK_FALSE(os::is_open(number));
    const int kept = pipe.write.release();
    CHECK(os::is_open(kept));
    pipe.write = UniqueFd(kept);
  }
  CHECK(audit.leaks() == "");
}

TEST_CASE("a duplicate has the number asked for or more, and does not pass exec", "[os]") {
  const auto pipe = os::create_pipe();
  const auto copy = pipe.read.duplicate(100);
  CHECK(copy.get() >= 100);
  CHECK((::fcntl(copy.get(), F_GETFD) & FD_CLOEXEC) != 0);
  os::set_inherit(copy.get(), os::Inherit::kYes);
  CHECK((::fcntl(copy.get(), F_GETFD) & FD_CLOEXEC) == 0);
}

TEST_CASE("at the descriptor limit the error names the limit", "[os]") {
  const auto end = test::end_of_child([] {
    const rlimit limit{16, 16};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null) return 3;
    std::vector<UniqueFd> copies;
    try {
      for (int i = 0; i < 20; ++i) copies.push_back(null.duplicate());
    } catch (const ResourceError& problem) {
      copies.clear();  // UndefinedBehaviorSanitizer needs some to look at `problem`
      return std::string(problem.what()).find("all 16 descriptors") != std::string::npos ? 0 : 1;
    }
    return 2;
  });
  CHECK(end == "exited with code 0");
}

TEST_CASE("wrong numbers are errors, not crashes", "[os]") {
  CHECK_THROWS_AS(os::set_inherit(-1, os::Inherit::kNo), SystemError);
  CHECK_THROWS_AS((void)UniqueFd().duplicate(), SystemError);
  CHECK_FALSE(os::is_open(-1));
}

TEST_CASE("a forked child closes its own copy of a descriptor", "[os][fork]") {
  auto pipe = os::create_pipe();
  const auto end = test::end_of_child([&] {
    pipe.read.reset();
    return os::is_open(pipe.write.get()) ? 0 : 1;
  });
  CHECK(end == "exited with code 0");
  CHECK(os::is_open(pipe.read.get()));
}
