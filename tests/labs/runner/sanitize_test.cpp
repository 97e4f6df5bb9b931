// SPDX-License-Identifier: Apache-2.0
#include "sanitize.h"

#include <catch2/catch_test_macros.hpp>

#include "plab/os/file.h"
#include "plab/os/temp.h"

namespace plab::lab {
namespace {

// Reports as GCC 12's sanitizers write them.
constexpr const char* kAddress =
    R"(=================================================================
==71==ERROR: AddressSanitizer: heap-use-after-free on address 0x60200 at pc 0x55 bp 0x7f sp 0x7f
READ of size 4 at 0x602000000010 thread T0
    #0 0x55d8 in memcpy ../../../../src/libsanitizer/x.inc:5
    #1 0x55d9 in plab::shm::copy(int) /p/core/plab/shm/block.cpp:7
    #2 0x55da in lab01::run_workers(int) /p/labs/01_processes/lab.cpp:24
    #3 0x55db in main /p/tests/labs/01_processes/check.cpp:9
)";
constexpr const char* kLeak = R"(
=================================================================
==72==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 40 byte(s) in 1 object(s) allocated from:
    #0 0x7f in operator new(unsigned long) ../../../../src/libsanitizer/asan/asan_new.cpp:95
    #1 0x55 in lab01::f() /p/solutions/01_processes/lab.cpp:3
)";
constexpr const char* kThread = R"(==================
WARNING: ThreadSanitizer: data race (pid=73)
  Write of size 8 at 0x7b0400 by thread T1:
    #0 lab02::count(long&) /p/labs/02_count/lab.cpp:11 (lab_02_count+0x1234)

  Previous write of size 8 at 0x7b0400 by main thread:
    #0 lab02::count(long&) /p/labs/02_count/lab.cpp:12 (lab_02_count+0x1244)
)";

TEST_CASE("of a sanitizer's report the kind, the access and the learner's line are kept",
          "[lab][sanitize]") {
  const auto address = read_finding(kAddress, "/p");
  REQUIRE(address.has_value());
  CHECK(address->head == "heap-use-after-free: READ of size 4");
  CHECK(address->where == "labs/01_processes/lab.cpp:24 in lab01::run_workers(int)");
  const auto leak = read_finding(kLeak, "/p");
  REQUIRE(leak.has_value());
  CHECK(leak->head ==
        "detected memory leaks: Direct leak of 40 byte(s) in 1 object(s) allocated from:");
  CHECK(leak->where == "solutions/01_processes/lab.cpp:3 in lab01::f()");
  const auto thread = read_finding(kThread, "/p");
  REQUIRE(thread.has_value());
  CHECK(thread->head == "data race: Write of size 8");
  CHECK(thread->where == "labs/02_count/lab.cpp:11 in lab02::count(long&)");
  const auto undefined = read_finding(
      "/p/labs/01_processes/lab.cpp:5:9: runtime error: signed integer overflow\n", "/p");
  REQUIRE(undefined.has_value());
  CHECK(undefined->head == "signed integer overflow");
  CHECK(undefined->where == "labs/01_processes/lab.cpp:5:9");
}

TEST_CASE("a finding below core alone names the line of core; no finding is none",
          "[lab][sanitize]") {
  const auto core = read_finding(
      "==1==ERROR: AddressSanitizer: SEGV on unknown address\n"
      "    #0 0x55 in plab::f() /p/core/plab/a.cpp:7\n",
      "/p");
  REQUIRE(core.has_value());
  CHECK(core->head == "SEGV");
  CHECK(core->where == "core/plab/a.cpp:7 in plab::f()");
  CHECK_FALSE(read_finding("", "/p").has_value());
  CHECK_FALSE(read_finding("it prints: an error\n", "/p").has_value());
}

TEST_CASE("reports of several processes are put together", "[lab][sanitize]") {
  const os::TempFolder folder;
  CHECK_FALSE(read_findings(folder.path(), "/p").has_value());
  os::write_file(folder.path() / "report.71", kAddress);
  os::write_file(folder.path() / "report.73", kThread);
  os::write_file(folder.path() / "report.74", "nothing\n");
  const auto both = read_findings(folder.path(), "/p");
  REQUIRE(both.has_value());
  CHECK(both->others == 1);
  CHECK(both->text.find("data race") != std::string::npos);
  CHECK(both->text.find("heap-use-after-free") != std::string::npos);
}

TEST_CASE("a sanitizer has its folder below the build folder, and its reports a place",
          "[lab][sanitize]") {
  const Context context{"/p", "/b"};
  CHECK(with_sanitizer(context, Sanitizer::kThread).build == "/b/sanitize-thread");
  CHECK(sanitizer_named("address") == Sanitizer::kAddress);
  CHECK_FALSE(sanitizer_named("memory").has_value());
  for (const auto& [name, value] : sanitizer_environment("/f")) {
    CHECK(value.find("log_path=/f/report") != std::string::npos);
  }
}

}  // namespace
}  // namespace plab::lab
