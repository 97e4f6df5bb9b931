// SPDX-License-Identifier: Apache-2.0
#include "leftovers.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "plab/os/temp.h"
#include "supervise.h"

namespace plab::lab {
namespace {

/// What a nasty program leaves. Temporary files go into a folder of this test, for both.
RunEnd run(const std::string& how, const os::TempFolder& folder) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  RunEnd end = run_supervised(
      {.argv = {PLAB_NASTY_PROGRAM, how}, .environment = {}, .folder = folder.path() / "waits"});
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
  return end;
}

TEST_CASE("each kind of thing that is left behind is named and removed", "[lab][leftovers]") {
  const os::TempFolder folder;
  const auto left = [&](const std::string& how) {
    const RunEnd end = run(how, folder);
    REQUIRE(end.how == RunEnd::How::kEnded);
    CHECK(run("", folder).left.empty());  // it is gone: the next run has nothing to say
    REQUIRE(end.left.size() == 1);
    return end.left.front();
  };
  CHECK(left("semaphore") == "POSIX semaphore /nasty_program_semaphore");
  CHECK(left("system-v-memory").starts_with("System V shared memory, id "));
  CHECK(left("system-v-semaphore").starts_with("System V semaphores, id "));
  CHECK(left("system-v-queue").starts_with("System V message queue, id "));
  const std::string socket = left("socket");
  INFO(socket);
  CHECK(socket.starts_with("socket " + (folder.path() / "lab-run-").string()));
  CHECK(socket.ends_with("/nasty_socket"));
}

TEST_CASE("temporary files of a program that is killed are gone with it", "[lab][leftovers]") {
  const os::TempFolder folder;
  const RunEnd end = run("temporary-file", folder);
  CHECK(end.status.signal == SIGKILL);
  CHECK(end.output.starts_with((folder.path() / "lab-run-").string()));  // it did make one
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  CHECK(names == std::vector<std::string>{"waits"});
}

TEST_CASE("a process that is left behind is named with the call that made it", "[lab][leftovers]") {
  const os::TempFolder folder;
  const RunEnd end = run("orphan", folder);
  REQUIRE(end.left.size() == 1);
  INFO(end.left.front());
  CHECK(end.left.front().find("fork_and_forget at ") != std::string::npos);
  CHECK(end.left.front().find("nasty_program.cpp:") != std::string::npos);
}

}  // namespace
}  // namespace plab::lab
