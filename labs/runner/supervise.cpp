// SPDX-License-Identifier: Apache-2.0
#include "supervise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <set>
#include <thread>

#include "leftovers.h"
#include "plab/base/deadline.h"
#include "plab/os/file.h"
#include "plab/os/pipe.h"
#include "plab/os/proc.h"
#include "plab/os/signals.h"
#include "plab/os/temp.h"
#include "plab/os/timeline_store.h"
#include "plab/shm/watcher.h"
#include "process_tree.h"

namespace plab::lab {

namespace {

constexpr std::size_t kKeep = 16'384;
constexpr std::size_t kAsked = 6;  // so many left-over processes say where they came from
constexpr std::chrono::milliseconds kLookEvery{20};
constexpr std::chrono::milliseconds kSampleEvery{100};

/// Keeps the beginning and the end of what is printed.
class Output {
 public:
  explicit Output(os::UniqueFd fd) : fd_(std::move(fd)) { os::set_nonblocking(fd_.get()); }
  /// Takes what comes until the deadline, or until nobody is left who could print.
  void take_until(Deadline deadline) {
    std::array<std::byte, 65'536> piece;
    do {
      const auto got = os::read_some(fd_.get(), piece, deadline);
      if (!got) return;
      at_end_ = *got == 0;
      add({reinterpret_cast<const char*>(piece.data()), *got});
    } while (!at_end_ && !deadline.expired());
  }
  [[nodiscard]] bool at_end() const { return at_end_; }
  /// Takes what is there, at most a few megabytes.
  void take() {
    std::array<std::byte, 65'536> piece;
    for (int i = 0; i < 64; ++i) {
      const auto got = os::read_some(fd_.get(), piece, Deadline::passed());
      if (!got || *got == 0) return;
      add({reinterpret_cast<const char*>(piece.data()), *got});
    }
  }
  [[nodiscard]] std::string text() const {
    if (total_ <= head_.size() + tail_.size()) return head_ + tail_;
    return fmt::format("{}\n... {} bytes are left out ...\n{}", head_,
                       total_ - head_.size() - tail_.size(), tail_);
  }
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  void add(std::string_view text) {
    total_ += text.size();
    const std::size_t room = kKeep - head_.size();
    head_ += text.substr(0, room);
    if (text.size() <= room) return;
    tail_ += text.substr(room);
    if (tail_.size() > 2 * kKeep) tail_.erase(0, tail_.size() - kKeep);
  }
  os::UniqueFd fd_;
  std::string head_, tail_;
  std::uint64_t total_ = 0;
  bool at_end_ = false;
};

bool is_fault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGABRT;
}

struct Ended {
  std::vector<std::string> alive;    ///< until now
  std::vector<std::string> crashed;  ///< dead already, by a fault, and nobody had asked
};

/// Ends everything that is a child of this process, or becomes one meanwhile (it is a subreaper).
/// @param folder of the table of waits
Ended end_all(const std::filesystem::path& folder) {
  Ended ended;
  std::size_t asked = 0;
  const auto maker_of = [&](int pid) {
    if (asked++ >= kAsked) return std::string();
    const auto stacks = take_stacks({pid}, folder);
    const std::string place = stacks.empty() ? "" : maker_in(stacks.front());
    return place.empty() ? place : ": " + place;
  };
  for (auto pids = os::child_pids(); !pids.empty(); pids = os::child_pids()) {
    for (const int pid : pids) {
      os::Process child = os::Process::adopt(pid);
      if (const auto status = child.try_wait()) {
        if (is_fault(status->signal)) {
          ended.crashed.push_back(fmt::format("process {} was {}", pid, status->text()));
        }
        continue;
      }
      ended.alive.push_back(fmt::format("process {} ({}){}", pid, command_of(pid), maker_of(pid)));
      child.kill(SIGKILL);
      (void)child.wait(Deadline::never());  // SIGKILL cannot be refused
    }
  }
  return ended;
}

/// The guard: a process between this one and the program. The program may kill its parent; then it
/// kills the guard, and this process is still there.
[[noreturn]] void guard(const RunRequest& request, const os::UniqueFd& report,
                        const os::UniqueFd& out, std::vector<std::string> environment) {
  os::ExitStatus status{.code = 127};
  try {
    os::Process program =
        os::spawn_process(request.argv[0], {.argv = request.argv,
                                            .env = std::move(environment),
                                            .descriptors = {{out.get(), 1}, {out.get(), 2}},
                                            .new_group = os::NewGroup::kYes});
    status = program.wait(Deadline::never()).value();
  } catch (const std::exception& problem) {
    fmt::print(stderr, "lab: {}\n", problem.what());
  }
  const std::array<int, 2> numbers{status.code, status.signal};
  os::write_full(report.get(), std::as_bytes(std::span(numbers)), Deadline::never());
  std::_Exit(0);
}

void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::string& value) {
  std::erase_if(environment, [&](const std::string& old) { return old.starts_with(name + "="); });
  environment.push_back(fmt::format("{}={}", name, value));
}

class Run {
 public:
  explicit Run(const RunRequest& request)
      : request_(request),
        watcher_(request.folder),
        report_(os::create_pipe()),
        printed_(os::create_pipe()),
        output_(std::move(printed_.read)) {}

  RunEnd run() {
    const std::int64_t start = monotonic_ns();
    os::become_subreaper();
    os::Process guard_process = start_guard();
    Pace pace(request_.limits);
    Deadline next_sample = Deadline::passed();
    const os::InterruptFlag interrupt;
    while (
        !guard_process.wait(output_.at_end() ? Deadline::after(kLookEvery) : Deadline::passed())) {
      output_.take_until(Deadline::after(kLookEvery));
      note_members(guard_process.pid());
      end_.verdict = watcher_.look();
      if (end_.verdict) end_.how = RunEnd::How::kDeadlock;
      if (interrupt.raised()) end_.how = RunEnd::How::kInterrupted;
      if (end_.how == RunEnd::How::kEnded && next_sample.expired()) {
        next_sample = Deadline::after(kSampleEvery);
        judge_pace(pace.take(sample(guard_process.pid(), start)), guard_process.pid());
      }
      if (end_.how != RunEnd::How::kEnded) break;
    }
    note_members(guard_process.pid());
    const bool hangs = end_.how != RunEnd::How::kEnded && end_.how != RunEnd::How::kInterrupted;
    if (hangs) end_.stacks = take_stacks(tree_below(guard_process.pid()), request_.folder);
    const bool ended = end_.how == RunEnd::How::kEnded;
    if (ended) read_status();
    Ended others = end_all(request_.folder);
    if (ended) {
      end_.left = std::move(others.alive);
      end_.crashed = std::move(others.crashed);
      end_.parent_killed = guard_process.try_wait()->signal != 0;
    }
    for (std::string& name : leftovers_.remove_left(members_)) {
      if (ended) end_.left.push_back(std::move(name));
    }
    output_.take();
    if (ended) end_.faults = read_fault_stacks(request_.folder);
    end_.output = output_.text();
    end_.output_bytes = output_.total();
    end_.seconds = static_cast<double>(monotonic_ns() - start) / 1e9;
    return std::move(end_);
  }

 private:
  os::Process start_guard() {
    std::vector<std::string> environment = os::environment();
    const auto [name, value] = watcher_.environment();
    environment.push_back(name + "=" + value);
    set_variable(environment, "TMPDIR", scratch_.path().string());
    for (const auto& [key, text] : request_.environment) set_variable(environment, key, text);
    auto process = os::fork_process();
    if (!process) guard(request_, report_.write, printed_.write, std::move(environment));
    report_.write.reset();
    printed_.write.reset();
    return std::move(*process);
  }
  void note_members(int guard_pid) {
    for (const int pid : tree_below(guard_pid)) members_.insert(pid);
    for (const auto& who : watcher_.processes()) members_.insert(who.pid);
  }
  PaceSample sample(int guard_pid, std::int64_t start) {
    PaceSample now{.at = static_cast<double>(monotonic_ns() - start) / 1e9,
                   .events = watcher_.moves() + output_.total() + members_.size() +
                             os::count_timeline_events(request_.timeline),
                   .cpu = {}};
    for (const int pid : tree_below(guard_pid)) {
      now.cpu[pid] = cpu_of(pid);
      now.has_runnable = now.has_runnable || is_runnable(pid);
    }
    now.events += now.cpu.size();  // one that has ended
    return now;
  }
  void judge_pace(Pace::Says says, int guard_pid) {
    if (says == Pace::Says::kGoOn) return;
    end_.how = says == Pace::Says::kSlow ? RunEnd::How::kSlow : RunEnd::How::kStuck;
    describe(guard_pid);
  }
  // For one that did not end: who waits, and how much is computed meanwhile.
  void describe(int guard_pid) {
    end_.waits = watcher_.waits();
    for (const int pid : tree_below(guard_pid)) {
      for (std::string& line : threads_in_words(pid)) end_.processes.push_back(std::move(line));
    }
    const auto cpu = [&] {
      double sum = 0;
      for (const int pid : tree_below(guard_pid)) sum += cpu_of(pid);
      return sum;
    };
    const double before = cpu();
    const Deadline second = Deadline::after(std::chrono::seconds(1));
    while (!second.expired()) {
      if (output_.at_end()) std::this_thread::sleep_for(kLookEvery);
      output_.take_until(Deadline::after(kLookEvery));
      (void)watcher_.look();
    }
    end_.cpu_seconds = cpu() - before;
  }
  // Nothing came: the guard was killed.
  void read_status() {
    std::array<int, 2> numbers{0, SIGKILL};
    const auto into = std::as_writable_bytes(std::span(numbers));
    if (os::read_full(report_.read.get(), into, Deadline::after(std::chrono::seconds(1))) !=
        into.size()) {
      numbers = {0, SIGKILL};
    }
    end_.status = {.code = numbers[0], .signal = numbers[1]};
  }

  const RunRequest& request_;
  const os::TempFolder scratch_{"lab-run-"};  // the program's temporary files: it may be killed
  Leftovers leftovers_{scratch_.path()};
  std::set<int> members_;  // the pids of all processes of the run, as far as they were seen
  shm::Watcher watcher_;
  os::Pipe report_, printed_;
  Output output_;
  RunEnd end_;
};

}  // namespace

RunEnd run_supervised(const RunRequest& request) { return Run(request).run(); }

}  // namespace plab::lab
