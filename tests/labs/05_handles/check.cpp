// SPDX-License-Identifier: Apache-2.0
// The check of lab 05. /dev/shm is never filled: a segment that is larger than all of it is asked
// for, which the kernel refuses at once to who reserves it, and grants to who only makes it long.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <random>

#include "05_handles/lab.hpp"
#include "plab/base/error.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/sync.h"
#include "plab/os/file.h"
#include "plab/os/proc.h"
#include "support/check.h"

namespace lab05 {

using namespace plab;

namespace {

using lab::CheckRun;

std::size_t descriptors() { return os::open_descriptors().size(); }

/// A check that fails leaves its segments: they go with it.
struct Tidy {
  Tidy() { remove(); }
  ~Tidy() { remove(); }
  Tidy(const Tidy&) = delete;
  Tidy& operator=(const Tidy&) = delete;
  static void remove() {
    for (const std::string& name : all_names()) ::unlink(path_of(name).c_str());
  }
};

std::byte mark(std::uint64_t seed, std::size_t index) {
  return static_cast<std::byte>(std::mt19937_64(seed + index)() % 251);
}

void write(const Segment& segment, std::uint64_t seed) {
  for (std::size_t i = 0; i < segment.data().size(); ++i) segment.data()[i] = mark(seed, i);
}

bool is_whole(const Segment& segment, std::uint64_t seed) {
  for (std::size_t i = 0; i < segment.data().size(); ++i) {
    if (segment.data()[i] != mark(seed, i)) return false;
  }
  return !segment.data().empty();
}

// --- names

void tell_a_name(mp::SimpleQueue<std::string> names) {
  Segment segment = create(Bytes{64});
  names.put(segment.name + " " + std::to_string(::getpid()), Deadline::never());
  static_cast<void>(std::raise(SIGKILL));
}

void names(CheckRun& check) {
  const Tidy tidy;
  std::array<std::string, 2> without_pid;
  for (std::string& rest : without_pid) {
    mp::SimpleQueue<std::string> told;
    mp::Process process(mp::kForkOnly, mp::ProcessOptions{.print_errors = mp::PrintErrors::kNo},
                        tell_a_name, told);
    process.start();
    process.join(Deadline::never());
    lab::pass_on_not_done(process);
    const auto both = told.try_get();
    check.require(both.has_value(), "L05-NOT-MADE", [&] {
      const auto error = process.error();
      return fmt::format("create of 64 bytes failed: {}",
                         error ? error->message() : "no exception");
    });
    const std::string name = both->substr(0, both->find(' '));
    const std::string pid = both->substr(both->find(' ') + 1);
    rest = name;
    if (const auto at = rest.find(pid); at != std::string::npos)
      rest.replace(at, pid.size(), "PID");
    check.require(name.starts_with(prefix()) && os::list_folder("/dev/shm", name).size() == 1,
                  "L05-NOT-MADE",
                  [&] { return fmt::format("there is no /dev/shm/{} of this lab", name); });
  }
  check.require(without_pid[0] != without_pid[1], "L05-NAME-COMES-AGAIN", [&] {
    return fmt::format(
        "two processes named their first segments alike but for the pid: {}; the next "
        "one with that pid finds the name taken by a dead one",
        without_pid[0]);
  });
  Tidy::remove();
}

// --- descriptors and room

constexpr int kMany = 10'000;

/// Exit codes of many_alive.
enum Found : int { kFine = 0, kNoRoom = 41, kDescriptors = 42, kLeft = 43 };

void many_alive(mp::SimpleQueue<std::string> told) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 256;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t before = descriptors();
  std::vector<Segment> alive;
  try {
    while (alive.size() < kMany) alive.push_back(create(Bytes{100}));
  } catch (const Error& problem) {
    told.put(fmt::format("{} were alive, with {} descriptors open, when the next one failed: {}",
                         alive.size(), alive.size() < 300 ? 256 : 0, problem.what()),
             Deadline::never());
    alive.clear();
    mp::exit_process(kNoRoom);
  }
  const std::size_t after = descriptors();
  for (Segment& segment : alive) let_go(segment);
  told.put(fmt::format("{} segments and {} descriptors more than before", kMany, after - before),
           Deadline::never());
  if (after > before + 4) mp::exit_process(kDescriptors);
  mp::exit_process(all_names().empty() ? kFine : kLeft);
}

void many(CheckRun& check) {
  const Tidy tidy;
  mp::SimpleQueue<std::string> told;
  mp::Process process(mp::kForkOnly, mp::ProcessOptions{.print_errors = mp::PrintErrors::kNo},
                      many_alive, told);
  process.start();
  process.join(Deadline::never());
  lab::pass_on_not_done(process);
  const std::string text = told.try_get().value_or("");
  const int code = process.exitcode().value();
  check.require(code != kNoRoom && code != kDescriptors, "L05-DESCRIPTORS",
                [&] { return "under a limit of 256 descriptors: " + text; });
  const std::vector<std::string> left = all_names();
  check.require(left.empty(), "L05-NEVER-UNLINKED", [&] {
    return fmt::format("{} segments were let go of, and {} names are still there, as {}", kMany,
                       left.size(), left.front());
  });
  check.require(code == kFine, "L05-NOT-MADE", [&] {
    return fmt::format("process {} ended with {}: {}", process.pid(), code, text);
  });
  check.proved(
      fmt::format("{} segments were alive under a limit of 256 descriptors, and no name was "
                  "left",
                  kMany));
}

void no_room(CheckRun& check) {
  const Tidy tidy;
  const auto space = os::dev_shm_space();
  if (!space || space->size == 0) {
    check.require(true, "",
                  [] { return std::string(); });  // /dev/shm without a limit is never full
    return;
  }
  const std::uint64_t wanted = space->size + (std::uint64_t{16} << 20U);
  std::string problem;
  try {
    Segment segment = create(Bytes{wanted});
    let_go(segment);
  } catch (const ResourceError& error) {
    problem = error.what();
  }
  check.require(!problem.empty(), "L05-NOT-RESERVED", [&] {
    return fmt::format(
        "a segment of {} bytes was made in a /dev/shm of {}: the first touch of a page "
        "that is not there would end the process by SIGBUS",
        wanted, space->size);
  });
  check.require(all_names().empty(), "L05-LEFT-BEHIND",
                [&] { return fmt::format("create failed, and left {}", all_names().front()); });
  check.proved(
      fmt::format("{} bytes in a /dev/shm of {}: an error at once, no SIGBUS later, no file "
                  "left",
                  wanted, space->size));
}

// --- handing over

void send_and_end(mp::SimpleQueue<std::string> queue, std::uint64_t seed) {
  Segment segment = create(Bytes{1000 + seed % 999});
  write(segment, seed);
  queue.put(hand_over(segment), Deadline::never());
  let_go(segment);
}

void early_exit(CheckRun& check) {
  const Tidy tidy;
  mp::SimpleQueue<std::string> queue;
  mp::Process sender(mp::ProcessOptions{.print_errors = mp::PrintErrors::kNo}, send_and_end, queue,
                     check.seed());
  sender.start();
  sender.join(Deadline::never());
  lab::pass_on_not_done(sender);
  const auto name = queue.try_get();
  check.require(name.has_value(), "L05-NOT-MADE", [&] {
    const auto error = sender.error();
    return fmt::format("the sender failed: {}", error ? error->message() : "no exception");
  });
  const auto is_there = [&] { return os::list_folder("/dev/shm", *name).size() == 1; };
  check.require(is_there(), "L05-UNLINKED-EARLY", [&] {
    return fmt::format(
        "process {} has handed {} over, let go of it and ended; the name is gone before "
        "anybody has opened it",
        sender.pid(), *name);
  });
  (void)sweep();
  check.require(is_there(), "L05-SWEPT-UNDER-WAY",
                [&] { return fmt::format("sweep removed {}, which was under way", *name); });
  Segment received = open(*name);
  check.require(is_whole(received, check.seed()), "L05-OTHER-DATA", [&] {
    return fmt::format("{} bytes arrived in {}, and not those that were sent",
                       received.data().size(), *name);
  });
  check.require(received.header().under_way == 0, "L05-COUNTED-WRONG", [&] {
    return fmt::format("it was handed over once and opened once, and {} are under way",
                       received.header().under_way.load());
  });
  let_go(received);
  check.require(!is_there(), "L05-NEVER-UNLINKED", [&] {
    return fmt::format("the last process let go of {}, and the name is still there", *name);
  });
  check.proved("a sender had ended before its segment was opened: nothing lost, nothing left");
}

// --- kill -9

void hold(mp::SimpleQueue<std::string> queue, mp::Event held) {
  Segment segment = create(Bytes{5000});
  queue.put(segment.name, Deadline::never());
  held.set();
  (void)mp::Event().wait(Deadline::after(std::chrono::seconds(60)));  // it is killed here
}

void killed_holder(CheckRun& check) {
  const Tidy tidy;
  Segment own = create(Bytes{4000});
  mp::SimpleQueue<std::string> queue;
  mp::Event held;
  mp::Process holder(hold, queue, held);
  holder.start();
  (void)held.wait(Deadline::never());
  holder.kill();
  holder.join(Deadline::never());
  const std::string name = queue.get(Deadline::never()).value();
  const int removed = sweep();
  check.require(os::list_folder("/dev/shm", own.name).size() == 1, "L05-SWEPT-ALIVE", [&] {
    return fmt::format("sweep removed {}, which process {} has", own.name, ::getpid());
  });
  check.require(os::list_folder("/dev/shm", name).empty() && removed == 1, "L05-LEFT-BEHIND", [&] {
    return fmt::format("process {} was killed with {}; sweep removed {} names and left {}",
                       holder.pid(), name, removed, fmt::join(all_names(), " "));
  });
  let_go(own);
  check.require(all_names().empty(), "L05-NEVER-UNLINKED",
                [&] { return fmt::format("{} is left", all_names().front()); });
  check.proved(
      fmt::format("process {} was killed by SIGKILL; sweep removed what it left, and not what "
                  "is in use",
                  holder.pid()));
}

}  // namespace
}  // namespace lab05

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"names do not come again", lab05::names, 5},
      plab::lab::CheckCase{"10,000 segments need no 10,000 descriptors", lab05::many, 3},
      plab::lab::CheckCase{"a full /dev/shm is an error, and no signal", lab05::no_room, 1},
      plab::lab::CheckCase{"a sender may end early", lab05::early_exit, 6},
      plab::lab::CheckCase{"a killed holder leaves nothing for good", lab05::killed_holder, 3}};
  return plab::lab::run_checks(argc, argv, kCases);
}
