// SPDX-License-Identifier: Apache-2.0
// A wrong solution of lab 06: the lowest rank that failed is blamed
#include "06_spawn-errors/lab.hpp"

#include <csignal>
#include <exception>
#include <filesystem>
#include <vector>

#include "plab/mp/context.h"
#include "plab/os/file.h"
#include "plab/os/poll.h"
#include "plab/os/process.h"
#include "plab/os/signals.h"
#include "plab/os/temp.h"
#include "support/not_done.h"

namespace mp = plab::mp;
namespace os = plab::os;
using plab::Deadline;

namespace lab06 {

namespace {

/// Where a rank leaves the text of its exception: a file takes a text of any length, and nobody
/// has to read it meanwhile.
std::filesystem::path error_file(const os::TempFolder& folder, int rank) {
  return folder.path() / std::to_string(rank);
}

/// What the forked child does; never returns.
[[noreturn]] void run_rank(int rank, void (*work)(int), os::ProcessIdentity launcher,
                           const std::filesystem::path& errors) {
  os::signal_on_parent_death(SIGKILL, launcher);
  try {
    work(rank);
  } catch (const std::exception& error) {
    os::write_file(errors, error.what());
    mp::exit_process(1);
  }
  mp::exit_process(0);
}

/// The rank of a process that has ended, whichever is first. Waits for it.
int wait_for_first(std::vector<os::Process>& ranks, const std::vector<bool>& over) {
  std::vector<int> ends;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ends.push_back(over[rank] ? -1 : ranks[rank].pidfd());
  }
  return static_cast<int>(os::wait_any(ends, Deadline::never()).value());
}

/// What the end of a rank says: nothing when it is a good one.
std::optional<std::string> failure_of(const os::ExitStatus& status,
                                      const std::filesystem::path& errors) {
  if (status.signal != 0) return os::signal_name(status.signal);
  if (std::filesystem::exists(errors)) return os::read_file(errors);
  if (status.code != 0) return "exit code " + std::to_string(status.code);
  return std::nullopt;
}

/// Ends every rank and waits for it.
void end_all(std::vector<os::Process>& ranks) {
  for (os::Process& rank : ranks) rank.kill(SIGTERM);
  const Deadline grace = Deadline::after(kGrace);
  for (os::Process& rank : ranks) {
    if (rank.wait(grace)) continue;
    rank.kill(SIGKILL);
    (void)rank.wait(Deadline::never());
  }
}

}  // namespace

std::optional<Failure> launch(int count, void (*work)(int rank)) {
  const os::TempFolder folder("lab06-");
  const os::ProcessIdentity launcher = os::self_identity();
  std::vector<os::Process> ranks;
  for (int rank = 0; rank < count; ++rank) {
    auto child = os::fork_process();
    if (!child) run_rank(rank, work, launcher, error_file(folder, rank));
    ranks.push_back(std::move(*child));
  }
  std::vector<bool> over(ranks.size(), false);
  for (int left = count; left > 0; --left) {
    const int rank = wait_for_first(ranks, over);
    const auto place = static_cast<std::size_t>(rank);
    over[place] = true;
    const os::ExitStatus status = ranks[place].wait(Deadline::never()).value();
    if (const auto what = failure_of(status, error_file(folder, rank))) {
      end_all(ranks);
      for (std::size_t first = 0; first < ranks.size(); ++first) {
        const os::ExitStatus end = ranks[first].wait(Deadline::never()).value();
        const int number = static_cast<int>(first);
        if (const auto why = failure_of(end, error_file(folder, number)))
          return Failure{number, *why};
      }
    }
  }
  return std::nullopt;
}

}  // namespace lab06
