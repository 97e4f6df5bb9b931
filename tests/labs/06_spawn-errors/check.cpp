// SPDX-License-Identifier: Apache-2.0
// The check of lab 06. A rank that nobody ends goes on for kLong and says so: that is the proof,
// and no time is measured.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <random>
#include <stdexcept>
#include <thread>

#include "06_spawn-errors/lab.hpp"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/sync.h"
#include "plab/os/mapping.h"
#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/os/signals.h"
#include "support/check.h"

namespace lab06 {

using namespace plab;

namespace {

using lab::CheckRun;

constexpr int kMostRanks = 8;
constexpr auto kLong = std::chrono::seconds(3);

enum class Role : int {
  kEndsWell,
  kThrows,
  kIsKilled,
  kExits,
  kGoesOn,         ///< for kLong, unless somebody ends it
  kIgnoresTerm,    ///< the same, with SIGTERM ignored
  kThrowsAtTerm,   ///< the same; at SIGTERM it fails with an error of its own
  kHasGrandchild,  ///< the same, with a process of its own that goes on too
};

/// What the ranks and the check share; ranks are made by fork, so it is theirs too.
struct Board {
  std::array<std::atomic<Role>, kMostRanks> roles;
  std::array<std::atomic<std::uint64_t>, kMostRanks> ranks;  // ProcessIdentity::packed
  std::atomic<std::uint64_t> grandchild;
  std::array<std::atomic<bool>, kMostRanks> went_on;  // it came to the end of kLong
  std::atomic<bool> grandchild_went_on;
  std::atomic<int> signal;
  std::atomic<std::uint64_t> seed;
};

Board* g_board = nullptr;
mp::Barrier* g_all_here = nullptr;  // the failing rank goes on when all run
mp::Event* g_never = nullptr;

os::ProcessIdentity identity_of(const std::atomic<std::uint64_t>& word) {
  return os::ProcessIdentity::from_packed(word.load());
}

/// A text of one megabyte that cannot be guessed, with every byte but zero in it.
std::string long_text(std::uint64_t seed, int rank) {
  std::mt19937_64 random(seed * 131 + static_cast<unsigned>(rank));
  std::string text((std::size_t{1} << 20U) + random() % 1000, ' ');
  for (char& c : text) c = static_cast<char>(1 + random() % 255);
  return text;
}

volatile std::sig_atomic_t g_terminated = 0;

void go_on(std::atomic<bool>& went_on) {
  const Deadline end = Deadline::after(kLong);
  while (!end.expired()) {
    if (g_terminated != 0)
      throw std::runtime_error("a follower's error: terminated by the launcher");
    (void)g_never->wait(Deadline::after(std::chrono::milliseconds(20)));
  }
  went_on = true;
}

void grandchild() {
  g_board->grandchild = os::self_identity().packed();
  go_on(g_board->grandchild_went_on);
}

void play(int rank) {
  const auto place = static_cast<std::size_t>(rank);
  g_board->ranks[place] = os::self_identity().packed();
  const Role role = g_board->roles[place].load();
  std::optional<mp::Process> own;
  if (role == Role::kIgnoresTerm) std::signal(SIGTERM, SIG_IGN);
  if (role == Role::kThrowsAtTerm) std::signal(SIGTERM, [](int) { g_terminated = 1; });
  if (role == Role::kHasGrandchild) {
    own.emplace(mp::kForkOnly, grandchild);
    own->start();
    while (g_board->grandchild.load() == 0) std::this_thread::yield();
  }
  (void)g_all_here->wait(Deadline::after(kLong));
  switch (role) {
    case Role::kEndsWell:
      return;
    case Role::kThrows:
      throw std::runtime_error(long_text(g_board->seed, rank));
    case Role::kIsKilled:
      // A sanitizer has handlers of its own for some signals and ends the process by exit instead.
      if (g_board->signal != SIGKILL) static_cast<void>(std::signal(g_board->signal, SIG_DFL));
      static_cast<void>(std::raise(g_board->signal));
      return;
    case Role::kExits:
      mp::exit_process(3);
    case Role::kGoesOn:
    case Role::kIgnoresTerm:
    case Role::kThrowsAtTerm:
    case Role::kHasGrandchild:
      go_on(g_board->went_on[place]);
  }
}

/// A board with its ranks' roles, for one launch.
class Stage {
 public:
  Stage(std::vector<Role> roles, std::uint64_t seed)
      : memory_(os::Mapping::anonymous(Bytes{sizeof(Board)})),
        all_here_(static_cast<std::uint32_t>(roles.size())),
        count_(static_cast<int>(roles.size())) {
    g_board = ::new (memory_.data()) Board{};
    g_all_here = &all_here_;
    g_never = &never_;
    g_board->seed = seed;
    for (std::size_t rank = 0; rank < roles.size(); ++rank) g_board->roles[rank] = roles[rank];
  }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] std::optional<Failure> launch() const { return lab06::launch(count_, play); }

 private:
  os::Mapping memory_;
  mp::Barrier all_here_;
  mp::Event never_;
  int count_;
};

/// Every rank ran in a process of its own, has ended, and was waited for.
void require_all_over(CheckRun& check, const Stage& stage) {
  for (int rank = 0; rank < stage.count(); ++rank) {
    const os::ProcessIdentity who = identity_of(g_board->ranks[static_cast<std::size_t>(rank)]);
    check.require(who.pid != 0 && who.pid != os::self_identity().pid, "L06-NOT-STARTED", [&] {
      return fmt::format("rank {} of {} did not run in a process of its own", rank, stage.count());
    });
    // One that was just sent SIGKILL may need a moment; one that goes on does so for kLong.
    for (const Deadline soon = Deadline::after(kLong / 3); os::is_alive(who) && !soon.expired();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    check.require(!os::is_alive(who), "L06-SURVIVOR", [&] {
      return fmt::format("launch has returned, and rank {} (process {}) still runs", rank, who.pid);
    });
    // A zombie is not alive, but still there.
    check.require(os::start_time(who.pid) != who.start, "L06-NOT-REAPED", [&] {
      return fmt::format("rank {} (process {}) has ended, and nobody waited for it", rank, who.pid);
    });
  }
}

void require_ended(CheckRun& check, const Stage& stage, int failed) {
  for (int rank = 0; rank < stage.count(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const bool stubborn = g_board->roles[place].load() == Role::kIgnoresTerm;
    check.require(!g_board->went_on[place], stubborn ? "L06-NO-KILL" : "L06-RANK-ORDER", [&] {
      return fmt::format("rank {} failed, and rank {} (process {}{}) was left to its own end",
                         failed, rank, identity_of(g_board->ranks[place]).pid,
                         stubborn ? ", which ignores SIGTERM" : "");
    });
  }
}

void all_well(CheckRun& check) {
  const int count = 2 + static_cast<int>(check.seed() % 4);
  const Stage stage(std::vector<Role>(static_cast<std::size_t>(count), Role::kEndsWell),
                    check.seed());
  const auto failure = stage.launch();
  check.require(!failure, "L06-FALSE-ALARM", [&] {
    return fmt::format("all {} ranks ended well; launch says that rank {} failed: {}", count,
                       failure->rank, failure->what.substr(0, 200));
  });
  require_all_over(check, stage);
}

void first_failure(CheckRun& check) {
  std::vector<Role> roles(4, Role::kThrowsAtTerm);
  const int failing = 1 + static_cast<int>(check.seed() % 3);  // never rank 0
  roles[static_cast<std::size_t>(failing)] = Role::kThrows;
  const Stage stage(roles, check.seed());
  const auto failure = stage.launch();
  require_ended(check, stage, failing);
  check.require(failure.has_value(), "L06-ERROR-LOST",
                [&] { return fmt::format("rank {} threw, and launch reports nothing", failing); });
  check.require(failure->rank == failing, "L06-FOLLOWER", [&] {
    return fmt::format("rank {} failed first; launch blames rank {}, which it ended itself: {}",
                       failing, failure->rank, failure->what.substr(0, 100));
  });
  const std::string thrown = long_text(check.seed(), failing);
  check.require(failure->what == thrown, "L06-ERROR-CUT", [&] {
    const auto same =
        std::mismatch(failure->what.begin(), failure->what.end(), thrown.begin(), thrown.end())
            .first -
        failure->what.begin();
    return fmt::format("rank {} threw a text of {} bytes; {} arrived, the first {} right", failing,
                       thrown.size(), failure->what.size(), same);
  });
  require_all_over(check, stage);
  check.proved(
      fmt::format("rank {} was blamed, though ranks 0 to 3 all failed in the end; its text "
                  "of {} bytes arrived whole",
                  failing, thrown.size()));
}

void other_ends(CheckRun& check) {
  constexpr std::array kSignals{SIGKILL, SIGSEGV, SIGABRT, SIGUSR1};
  const int number = kSignals[check.seed() % kSignals.size()];
  for (const Role role : {Role::kIsKilled, Role::kExits}) {
    const Stage stage({Role::kGoesOn, Role::kEndsWell, role}, check.seed());
    g_board->signal = number;
    const auto failure = stage.launch();
    const std::string wanted = role == Role::kExits ? "exit code 3" : os::signal_name(number);
    check.require(failure && failure->rank == 2 && failure->what == wanted, "L06-SIGNAL-LOST", [&] {
      return fmt::format(
          "rank 2 ended by {}; launch says {}", wanted,
          failure ? fmt::format("rank {}: {}", failure->rank, failure->what) : "that all is well");
    });
    require_ended(check, stage, 2);
    require_all_over(check, stage);
  }
  check.proved(fmt::format("a rank ended by {} and one that exited with 3 are told as that",
                           os::signal_name(number)));
}

void stubborn(CheckRun& check) {
  const Stage stage({Role::kIgnoresTerm, Role::kThrows, Role::kIgnoresTerm}, check.seed());
  const auto failure = stage.launch();
  require_all_over(check, stage);
  require_ended(check, stage, 1);
  check.require(failure && failure->rank == 1, "L06-FOLLOWER", [&] {
    return fmt::format("rank 1 failed; launch says {}",
                       failure ? fmt::format("rank {}", failure->rank) : "nothing");
  });
  check.proved("two ranks that ignore SIGTERM were ended after the grace");
}

void killed_launcher(CheckRun& check) {
  const Stage stage({Role::kGoesOn, Role::kIgnoresTerm, Role::kHasGrandchild}, check.seed());
  mp::Process launcher(mp::kForkOnly, [&] { (void)stage.launch(); });
  launcher.start();
  const auto all_run = [&] {
    for (int rank = 0; rank < stage.count(); ++rank) {
      if (g_board->ranks[static_cast<std::size_t>(rank)] == 0) return false;
    }
    return g_board->grandchild.load() != 0;
  };
  while (!all_run() && launcher.is_alive()) std::this_thread::yield();
  check.require(all_run(), "L06-NOT-STARTED",
                [] { return std::string("launch returned before all ranks ran"); });
  launcher.kill();
  launcher.join(Deadline::never());
  std::vector<os::ProcessIdentity> family{identity_of(g_board->grandchild)};
  for (int rank = 0; rank < stage.count(); ++rank) {
    family.push_back(identity_of(g_board->ranks[static_cast<std::size_t>(rank)]));
  }
  for (const auto& who : family) {  // nobody lives longer than kLong
    while (os::is_alive(who)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (int rank = 0; rank < stage.count(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    check.require(!g_board->went_on[place], "L06-ORPHAN", [&] {
      return fmt::format(
          "the launcher (process {}) was killed; rank {} (process {}) worked on to "
          "its own end",
          launcher.pid(), rank, family[place + 1].pid);
    });
  }
  check.require(!g_board->grandchild_went_on, "L06-ORPHAN",
                [&] { return fmt::format("the grandchild {} worked on", family[0].pid); });
  check.proved("with the launcher killed by SIGKILL, 3 ranks and a grandchild were gone");
}

}  // namespace
}  // namespace lab06

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"all ranks end well", lab06::all_well, 7},
      plab::lab::CheckCase{"the first failure ends the others", lab06::first_failure, 19},
      plab::lab::CheckCase{"signals and exit codes are told", lab06::other_ends, 26},
      plab::lab::CheckCase{"ranks that ignore SIGTERM are ended", lab06::stubborn, 13},
      plab::lab::CheckCase{"a killed launcher leaves no rank", lab06::killed_launcher, 5}};
  return plab::lab::run_checks(argc, argv, kCases);
}
