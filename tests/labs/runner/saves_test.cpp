// SPDX-License-Identifier: Apache-2.0
#include "saves.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <future>

#include "plab/os/file.h"
#include "plab/os/pipe.h"
#include "plab/os/temp.h"

namespace plab::lab {
namespace {

// Sets the time by hand: two saves within a tick of the file system's clock are one to poll for.
void save(const std::filesystem::path& file, int second) {
  os::write_file(file, "x");
  using Clock = std::filesystem::file_time_type::clock;
  std::filesystem::last_write_time(file, Clock::now() + std::chrono::seconds(second));
}

TEST_CASE("a save wakes by inotify and by polling", "[lab]") {
  const Notice notice = GENERATE(Notice::kKernel, Notice::kPoll);
  const os::TempFolder folder;
  const auto file = folder.path() / "lab.cpp";
  os::write_file(file, "0");
  Saves saves(file, notice);
  CHECK(saves.notice() == notice);
  for (int i = 1; i <= 3; ++i) {
    auto woken = std::async(std::launch::async, [&] { return saves.wait(-1); });
    save(folder.path() / "other.cpp", i);  // is none of its business
    save(file, i);
    CHECK(woken.get() == Woken::kSaved);
  }
  save(file, 7);  // between two waits
  CHECK(saves.wait(-1) == Woken::kSaved);
}

TEST_CASE("a file that is renamed over the old one was saved", "[lab]") {
  const Notice notice = GENERATE(Notice::kKernel, Notice::kPoll);
  const os::TempFolder folder;
  const auto file = folder.path() / "lab.cpp";
  os::write_file(file, "0");
  Saves saves(file, notice);
  auto woken = std::async(std::launch::async, [&] { return saves.wait(-1); });
  save(folder.path() / "lab.cpp.new", 5);
  std::filesystem::rename(folder.path() / "lab.cpp.new", file);
  CHECK(woken.get() == Woken::kSaved);
}

TEST_CASE("a line on the keys wakes, a closed terminal does not", "[lab]") {
  const os::TempFolder folder;
  const auto file = folder.path() / "lab.cpp";
  os::write_file(file, "0");
  Saves saves(file, Notice::kPoll);
  os::Pipe keys = os::create_pipe();
  const std::array<std::byte, 1> enter{std::byte{'\n'}};
  os::write_full(keys.write.get(), enter, Deadline::never());
  CHECK(saves.wait(keys.read.get()) == Woken::kEnter);
  keys.write.reset();
  auto woken = std::async(std::launch::async, [&] { return saves.wait(keys.read.get()); });
  save(file, 5);
  CHECK(woken.get() == Woken::kSaved);
}

TEST_CASE("a file that can't be watched by the kernel is polled for", "[lab]") {
  const os::TempFolder folder;
  const auto file = folder.path() / "not there yet" / "lab.cpp";
  Saves saves(file, Notice::kKernel);
  CHECK(saves.notice() == Notice::kPoll);
  auto woken = std::async(std::launch::async, [&] { return saves.wait(-1); });
  std::filesystem::create_directories(file.parent_path());
  save(file, 5);
  CHECK(woken.get() == Woken::kSaved);
}

}  // namespace
}  // namespace plab::lab
