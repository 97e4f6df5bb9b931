// SPDX-License-Identifier: Apache-2.0
// The check of lab 10: a lock whose owner is killed in the middle of a change, transfers in
// opposite directions that meet for certain, and a worker that ends with an unread queue.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <csignal>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>

#include "10_deadlocks/lab.hpp"
#include "plab/base/error.h"
#include "plab/mp/context.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/os/process.h"
#include "plab/os/thread.h"
#include "support/check.h"

namespace lab10 {

using namespace plab;

namespace {

using lab::CheckRun;

constexpr int kAccounts = 4;
constexpr std::int64_t kStart = 1000;

/// What the check wants of the given functions in one process.
struct Hooks {
  mp::Event* in_change = nullptr;  // set in the middle of a change, which then goes no further
  mp::Event* own_first = nullptr;  // set with the first lock; then the other's is waited for
  mp::Event* other_first = nullptr;
};
Hooks g_hooks;

std::span<std::int64_t> values(const Tensor& tensor) {
  return {tensor.data<std::int64_t>(), static_cast<std::size_t>(tensor.numel())};
}

/// A change by a thread that does not have the lock.
struct WithoutLock : std::logic_error {
  explicit WithoutLock(int account)
      : std::logic_error(fmt::format("account {} is changed without its lock", account)) {}
};

/// The last of the notes: how often a lock was asked for with a deadline.
std::atomic_ref<std::int64_t> impatient(const Bank& bank) {
  return std::atomic_ref<std::int64_t>(values(bank.notes).back());
}

std::size_t place(int account) { return static_cast<std::size_t>(account); }

Bank make_bank() {
  Bank bank;
  bank.locks.resize(kAccounts);
  bank.balances = Tensor::full({kAccounts}, kStart, DType::kI64).share_memory();
  bank.notes = Tensor::zeros({2 * kAccounts + 1}, DType::kI64).share_memory();
  return bank;
}

}  // namespace

mp::LockResult take(Bank& bank, int account, Deadline deadline, std::source_location where) {
  if (deadline.ns() != Deadline::never().ns()) ++impatient(bank);
  const mp::LockResult result = bank.locks.at(place(account)).acquire(deadline, where);
  if (g_hooks.own_first != nullptr && result.acquired()) {
    // Both have their first lock, or the other one waits for this one's: then the time passes.
    g_hooks.own_first->set();
    (void)g_hooks.other_first->wait(Deadline::after(std::chrono::milliseconds(200)));
    g_hooks = {};
  }
  return result;
}

void give_back(Bank& bank, int account) { bank.locks.at(place(account)).release(); }

void change(Bank& bank, int account, std::int64_t amount) {
  if (bank.locks.at(place(account)).owner().tid != os::current_tid()) throw WithoutLock(account);
  const auto balances = values(bank.balances);
  const auto notes = values(bank.notes);
  notes[2 * place(account) + 1] = balances[place(account)];
  notes[2 * place(account)] = 1;
  balances[place(account)] += amount / 2;
  if (g_hooks.in_change != nullptr) {
    g_hooks.in_change->set();
    (void)mp::Event().wait(Deadline::after(std::chrono::seconds(60)));  // it is killed here
  }
  balances[place(account)] += amount - amount / 2;
  notes[2 * place(account)] = 0;
}

void restore(Bank& bank, int account) {
  const auto notes = values(bank.notes);
  if (notes[2 * place(account)] == 0) return;
  values(bank.balances)[place(account)] = notes[2 * place(account) + 1];
  notes[2 * place(account)] = 0;
}

namespace {

std::string text_of(int rank) {
  std::mt19937_64 random(static_cast<unsigned>(rank) + 7U);
  std::string text(200'000 + random() % 5000, ' ');
  for (char& c : text) c = static_cast<char>('!' + random() % 90);
  return text;
}

}  // namespace

Report write_report(Job& job, int rank) {
  if (job.turn.owner().tid != os::current_tid()) {
    throw std::logic_error("write_report is called without job.turn");
  }
  job.written.set();
  return {rank, text_of(rank)};
}

namespace {

mp::ProcessOptions quiet() { return {.print_errors = mp::PrintErrors::kNo}; }

void change_and_be_killed(Bank bank, int account, std::int64_t amount, mp::Event in_change) {
  (void)take(bank, account, Deadline::never());
  g_hooks.in_change = &in_change;
  change(bank, account, amount);
}

void killed_owner(CheckRun& check) {
  Bank bank = make_bank();
  const int account = static_cast<int>(check.seed() % kAccounts);
  const auto amount = static_cast<std::int64_t>(100 + check.seed() % 800);
  mp::Event in_change;
  mp::Process victim(quiet(), change_and_be_killed, bank, account, amount, in_change);
  victim.start();
  (void)in_change.wait(Deadline::never());
  victim.kill();
  victim.join(Deadline::never());
  const std::int64_t torn = values(bank.balances)[place(account)];
  enter(bank, account);
  check.require(bank.locks[place(account)].owner().tid == os::current_tid(), "L10-NOT-LOCKED", [&] {
    return fmt::format("enter has returned, and the lock of account {} is not this thread's",
                       account);
  });
  const std::int64_t balance = values(bank.balances)[place(account)];
  check.require(balance == kStart, "L10-TORN-BALANCE", [&] {
    return fmt::format(
        "process {} was killed in a change of account {} by {}: its balance was {}, "
        "is {}, and would have been {}",
        victim.pid(), account, amount, kStart, balance, kStart + amount);
  });
  change(bank, account, 5);
  give_back(bank, account);
  enter(bank, account);  // once more: a lock that was not repaired is lost for good
  give_back(bank, account);
  check.require(values(bank.balances)[place(account)] == kStart + 5, "L10-TORN-BALANCE",
                [&] { return std::string("a change after the repair did not last"); });
  check.proved(
      fmt::format("process {} was killed by SIGKILL in the middle of a change ({} instead of "
                  "{}); the lock came back, and the balance whole",
                  victim.pid(), torn, kStart));
}

struct Meeting {
  std::vector<mp::Event> first;  // by rank
  template <class Archive>
  void serialize(Archive& archive) {
    archive(first);
  }
};

constexpr int kTransfers = 150;

void move_money(int rank, Bank bank, Meeting meeting, std::uint64_t seed) {
  if (rank < 2) {
    g_hooks.own_first = &meeting.first[place(rank)];
    g_hooks.other_first = &meeting.first[place(1 - rank)];
    transfer(bank, rank, 1 - rank, 7);
  }
  std::mt19937_64 random(seed + static_cast<unsigned>(rank));
  for (int i = 0; i < kTransfers; ++i) {
    const int from = static_cast<int>(random() % kAccounts);
    const int to = (from + 1 + static_cast<int>(random() % (kAccounts - 1))) % kAccounts;
    transfer(bank, from, to, static_cast<std::int64_t>(random() % 20));
  }
}

void opposite_transfers(CheckRun& check) {
  constexpr int kWorkers = 3;
  const Bank bank = make_bank();
  Meeting meeting;
  meeting.first.resize(2);
  std::vector<mp::Process> workers;
  for (int rank = 0; rank < kWorkers; ++rank) {
    workers.emplace_back(mp::ProcessOptions{.name = fmt::format("rank {}", rank),
                                            .print_errors = mp::PrintErrors::kNo},
                         move_money, rank, bank, meeting, check.seed());
    workers.back().start();
  }
  for (mp::Process& worker : workers) {
    worker.join(Deadline::never());
    lab::pass_on_not_done(worker);
    const auto thrown = worker.error();
    check.require(!thrown || thrown->type() != "lab10::(anonymous namespace)::WithoutLock",
                  "L10-WITHOUT-LOCK", [&] {
                    return fmt::format("{}, process {}: {}", worker.name(), worker.pid(),
                                       thrown->message());
                  });
    check.require(worker.exitcode() == 0, "L10-WORKER-FAILED", [&] {
      const auto error = worker.error();
      return fmt::format("{} ended with {}: {}", worker.name(), *worker.exitcode(),
                         error ? error->message() : "no exception");
    });
  }
  const std::int64_t tries = impatient(bank).load();
  check.require(tries == 0, "L10-TIMEOUT", [&] {
    return fmt::format("{} times a lock was asked for with a deadline, to give up and try again",
                       tries);
  });
  std::int64_t sum = 0;
  for (const std::int64_t balance : values(bank.balances)) sum += balance;
  check.require(sum == kAccounts * kStart, "L10-MONEY", [&] {
    return fmt::format("{} accounts had {} together and now have {}", kAccounts, kAccounts * kStart,
                       sum);
  });
  for (const mp::Lock& lock : bank.locks) {
    check.require(lock.owner().pid == 0, "L10-NOT-GIVEN-BACK",
                  [&] { return fmt::format("process {} ended with a lock", lock.owner().pid); });
  }
  check.proved(
      fmt::format("{} transfers by {} processes in all directions, two of which met with "
                  "their first locks in hand; no money was lost",
                  kWorkers * kTransfers + 2, kWorkers));
}

void end_with_a_full_queue(CheckRun& check) {
  for (int rank = 0; rank < 2; ++rank) {
    Job job;
    job.queue = mp::Queue<Report>(0);
    mp::Process worker(mp::ProcessOptions{.name = fmt::format("rank {}", rank),
                                          .print_errors = mp::PrintErrors::kNo},
                       finish, job, rank);
    worker.start();
    while (!job.written.wait(Deadline::after(std::chrono::milliseconds(5))) && worker.is_alive()) {
    }
    lab::pass_on_not_done(worker);
    const mp::LockResult turn = job.turn.acquire(Deadline::never());
    check.require(!turn.owner_died(), "L10-LOCK-AT-EXIT", [&] {
      return fmt::format("process {} ended with the lock that its reader waits for", worker.pid());
    });
    job.turn.release();
    std::optional<Report> report;
    for (bool lives = true; lives && !report;) {
      lives = !worker.join(Deadline::passed());
      try {
        report = job.queue.get(Deadline::after(std::chrono::milliseconds(lives ? 20 : 0)));
      } catch (const PeerDied&) {
        break;  // it ended in the middle of its report
      }
    }
    worker.join(Deadline::never());
    lab::pass_on_not_done(worker);
    check.require(report && report->rank == rank && report->text == text_of(rank),
                  "L10-REPORT-LOST", [&] {
                    return fmt::format("process {} ended with {}, and its report of {} bytes {}",
                                       worker.pid(), *worker.exitcode(), text_of(rank).size(),
                                       report ? "came damaged" : "never came");
                  });
    check.require(worker.exitcode() == kDone, "L10-OTHER-END", [&] {
      return fmt::format("process {} ended with {}, not with {}", worker.pid(), *worker.exitcode(),
                         kDone);
    });
  }
  check.proved("two workers ended by exit_process with 200 kB to be written, and nobody waited");
}

}  // namespace
}  // namespace lab10

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  static constexpr std::array kCases{
      plab::lab::CheckCase{"a killed owner's account is made whole", lab10::killed_owner, 3},
      plab::lab::CheckCase{"transfers in opposite directions end", lab10::opposite_transfers, 12},
      plab::lab::CheckCase{"a worker ends without what its reader needs",
                           lab10::end_with_a_full_queue, 6}};
  return plab::lab::run_checks(argc, argv, kCases);
}
