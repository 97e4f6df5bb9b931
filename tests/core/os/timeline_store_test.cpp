// SPDX-License-Identifier: Apache-2.0
#include "plab/os/timeline_store.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "plab/base/error.h"
#include "plab/base/timeline.h"
#include "plab/os/file.h"
#include "plab/os/proc.h"
#include "plab/os/temp.h"
#include "support/gate.h"

namespace tl = plab::timeline;
namespace os = plab::os;
using plab::test::end_of_child;

namespace {

class Recording {
 public:
  explicit Recording(std::uint64_t events = 64) { os::start_timeline(folder(), events); }
  ~Recording() { os::stop_timeline(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  [[nodiscard]] std::filesystem::path folder() const { return temp_.path() / "rings"; }
  [[nodiscard]] tl::Timeline read() const { return os::read_timeline(folder()); }

 private:
  os::TempFolder temp_;
};

const tl::ProcessTrack& track_named(const tl::Timeline& all, std::string_view name) {
  static const tl::ProcessTrack none;
  const auto at = std::ranges::find(all.processes, name, &tl::ProcessTrack::name);
  return at == all.processes.end() ? none : *at;
}

}  // namespace

TEST_CASE("each process keeps its own ring, and a forked child never writes its parent's",
          "[os][timeline]") {
  const Recording recording;
  tl::name_process("parent");
  tl::record({.label = "before"});
  const auto pid = static_cast<std::uint32_t>(getpid());
  CHECK(end_of_child([] {
          tl::name_process("child");
          tl::record({.label = "in child"});
          tl::record_exit(7);
          return 7;
        }) == "exited with code 7");
  tl::record({.label = "after"});
  const auto all = recording.read();
  REQUIRE(all.processes.size() == 2);
  CHECK(all.problems.empty());
  const auto& parent = track_named(all, "parent");
  const auto& child = track_named(all, "child");
  CHECK(parent.pid == pid);
  CHECK(parent.end == tl::End::kRunning);
  CHECK(parent.events.size() == 3);
  CHECK(child.parent_pid == pid);
  CHECK(child.end == tl::End::kExited);
  CHECK(child.exit_code == 7);
  REQUIRE(child.events.size() == 3);
  CHECK(child.events[1].label == "in child");
  CHECK(child.events[1].tid == child.pid);
}

TEST_CASE("what a process recorded is there after kill -9", "[os][timeline]") {
  const Recording recording;
  CHECK(end_of_child([] {
          tl::name_process("victim");
          for (int i = 0; i < 1000; ++i) tl::record({.label = "work", .value = i});
          return raise(SIGKILL);
        }) == "killed by SIGKILL");
  const auto all = recording.read();
  const auto& victim = track_named(all, "victim");
  CHECK(victim.end == tl::End::kKilled);
  REQUIRE(victim.events.size() == 64);
  CHECK(victim.events.back().value == 999);
  CHECK(victim.overwritten == 1001 - 64);
}

TEST_CASE("a child that never records has no ring, and no descriptor stays open",
          "[os][timeline]") {
  const auto before = os::open_descriptors().size();
  const Recording recording;
  CHECK(end_of_child([] { return 0; }) == "exited with code 0");
  CHECK(recording.read().processes.size() == 1);
  CHECK(os::open_descriptors().size() == before);
}

TEST_CASE("a damaged ring is named and the others are read", "[os][timeline]") {
  const Recording recording;
  std::ofstream(recording.folder() / "1_2.ring") << "no ring at all";
  std::ofstream(recording.folder() / "3_4.ring") << "";
  std::ofstream(recording.folder() / "notes.txt") << "not looked at";
  const auto all = recording.read();
  CHECK(all.processes.size() == 1);
  REQUIRE(all.problems.size() == 2);
  CHECK(all.problems[0].find(".ring") != std::string::npos);
}

TEST_CASE("a process that starts again begins a second ring", "[os][timeline]") {
  const os::TempFolder folder;
  os::start_timeline(folder.path(), 16);
  tl::record({.label = "first"});
  os::start_timeline(folder.path(), 16);
  tl::record({.label = "second"});
  const auto all = os::read_timeline(folder.path());
  os::stop_timeline();
  REQUIRE(all.processes.size() == 2);
  CHECK(std::ranges::none_of(all.processes,
                             [](const auto& track) { return track.end == tl::End::kKilled; }));
}

TEST_CASE("reading while another thread writes shows only whole records",
          "[os][timeline][threads]") {
  const Recording recording(16);
  std::jthread writer([](const std::stop_token& stop) {
    for (std::uint64_t i = 1; !stop.stop_requested(); ++i) {
      tl::record({.label = std::to_string(i), .id = i, .value = static_cast<std::int64_t>(i) * 7});
    }
  });
  std::size_t seen = 0;
  bool whole = true;
  for (int i = 0; i < 300; ++i) {
    const tl::Timeline timeline = recording.read();
    for (const auto& event : timeline.processes.at(0).events) {
      if (event.id == 0) continue;
      ++seen;
      whole = whole && event.label == std::to_string(event.id) &&
              event.value == static_cast<std::int64_t>(event.id) * 7;
    }
  }
  CHECK(whole);
  CHECK(seen > 0);
}

TEST_CASE("the environment turns the timeline on; a folder that cannot be is no failure",
          "[os][timeline]") {
  const os::TempFolder folder;
  unsetenv("PLAB_TIMELINE");
  CHECK_FALSE(os::start_timeline_from_environment());
  CHECK(end_of_child([&] {
          setenv("PLAB_TIMELINE", (folder.path() / "a" / "b").c_str(), 1);
          setenv("PLAB_TIMELINE_EVENTS", "100", 1);
          const bool on = os::start_timeline_from_environment();
          const auto all = os::read_timeline(folder.path() / "a" / "b");
          return on && tl::enabled() && all.processes.size() == 1 ? 0 : 1;
        }) == "exited with code 0");
  CHECK(end_of_child([&] {
          setenv("PLAB_LOG", "off", 1);
          setenv("PLAB_TIMELINE", "/proc/nothing/here", 1);
          const bool on = os::start_timeline_from_environment();
          return !on && !tl::enabled() ? 0 : 1;
        }) == "exited with code 0");
  CHECK_THROWS_AS(os::start_timeline("/proc/nothing/here"), plab::SystemError);
  CHECK_THROWS_AS(os::read_timeline(folder.path() / "none"), plab::SystemError);
  CHECK_FALSE(tl::enabled());
}

TEST_CASE("removing takes the rings and leaves other files", "[os][timeline]") {
  const os::TempFolder folder;
  os::start_timeline(folder.path() / "r", 16);
  os::stop_timeline();
  os::remove_timeline(folder.path() / "r");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "r"));
  os::start_timeline(folder.path() / "r", 16);
  os::stop_timeline();
  std::ofstream(folder.path() / "r" / "mine") << "x";
  os::remove_timeline(folder.path() / "r");
  CHECK(std::filesystem::exists(folder.path() / "r" / "mine"));
  os::remove_timeline(folder.path() / "not there");
}
