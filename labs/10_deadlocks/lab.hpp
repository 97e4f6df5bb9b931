#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 10: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "plab/mp/queue.h"
#include "plab/mp/sync.h"
#include "plab/tensor/tensor.h"

namespace lab10 {

/// Accounts in shared memory, each with a lock of its own. A copy is the same bank.
struct Bank {
  std::vector<plab::mp::Lock> locks;
  plab::Tensor balances;  ///< i64, shared; balances[i] may be changed with locks[i] only
  plab::Tensor notes;  ///< i64, shared, two for each account: is it in a change; what it was before
  template <class Archive>
  void serialize(Archive& archive) {
    archive(locks, balances, notes);
  }
};

/// Takes the lock of an account and says how it got it: acquired() tells whether it has the lock,
/// owner_died() whether the one who had it before was killed with it. Given; use this, so that the
/// check can look on.
/// @blocks until the lock is free or `deadline`
plab::mp::LockResult take(Bank& bank, int account, plab::Deadline deadline,
                          std::source_location where = std::source_location::current());
/// Gives it back. Given.
void give_back(Bank& bank, int account);
/// Adds to a balance, with the account's lock: notes what it was, changes it, strikes the note out.
/// Given. Whoever is killed in here leaves the note and half a change.
void change(Bank& bank, int account, std::int64_t amount);
/// Puts a balance back to what it was before a change that was not finished, with the account's
/// lock. Given. Does nothing when no change is unfinished.
void restore(Bank& bank, int account);

/// What a worker has to tell at its end: a text that is longer than the queue holds.
struct Report {
  int rank = 0;
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(rank, text);
  }
};

/// What a worker gets for its end. The reader takes `turn` and gives it back, to know that nobody
/// writes a report just then, and then reads the queue.
struct Job {
  plab::mp::Lock turn;
  plab::mp::Queue<Report> queue = plab::mp::Queue<Report>::unbound();
  plab::mp::Event written;  ///< write_report sets it
  template <class Archive>
  void serialize(Archive& archive) {
    archive(turn, queue, written);
  }
};

/// The exit code of a worker that has done its work.
inline constexpr int kDone = 17;

/// Writes the report of a rank, with job.turn. Given.
Report write_report(Job& job, int rank);

/// Takes the account's lock, however long that takes. When it returns, this process has the lock
/// and the balance is whole, even if the lock's owner before was killed in the middle of a change.
void enter(Bank& bank, int account);

/// Moves an amount from one account to another one, with both locks. Any number of processes call
/// it at the same time, in any directions; each call comes to its end.
void transfer(Bank& bank, int from, int to, std::int64_t amount);

/// Takes job.turn, writes the report, puts it into job.queue, and ends this process with
/// plab::mp::exit_process(kDone). Runs in a worker; the report arrives.
[[noreturn]] void finish(Job job, int rank);

}  // namespace lab10
