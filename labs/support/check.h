#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a lab's check is written with. A check is a program: main calls run_checks with a list of
// cases; each case runs the learner's functions and requires what they must bring about. What it
// found goes into a file for the lab tool (PLAB_CHECK_RESULT), or is printed when there is none.
//
// Children of a check report by queues and pipes; only the first process requires and proves.

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plab/mp/context.h"
#include "plab/mp/process.h"

namespace plab::lab {

/// One run of the cases.
class CheckRun {
 public:
  CheckRun(std::uint64_t seed, mp::StartMethod method) : seed_(seed), method_(method) {}
  /// Changes from run to run: numbers that depend on it cannot be guessed.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] mp::StartMethod start_method() const noexcept { return method_; }

  /// Requires something of the learner's work. When it is not so the run ends with the verdict
  /// `code`, whose rule, reason and hints are in the lab's lab.toml.
  /// @param seen what was seen, with numbers and pids; given only when it failed
  template <typename Seen>
  void require(bool holds, std::string_view code, Seen&& seen) {
    ++required_;
    if (!holds) fail(code, std::string(seen()));
  }
  /// Something that has been proved; shown when all passed. The last run's is kept.
  void proved(std::string what) { proved_.push_back(std::move(what)); }
  [[noreturn]] static void fail(std::string_view code, std::string seen);

  [[nodiscard]] std::int64_t required() const noexcept { return required_; }
  [[nodiscard]] const std::vector<std::string>& proofs() const noexcept { return proved_; }

 private:
  std::uint64_t seed_;
  mp::StartMethod method_;
  std::int64_t required_ = 0;
  std::vector<std::string> proved_;
};

/// What require throws.
class CheckFailed : public std::runtime_error {
 public:
  CheckFailed(std::string_view code, const std::string& seen)
      : std::runtime_error(seen), code_(code) {}
  [[nodiscard]] const std::string& code() const noexcept { return code_; }

 private:
  std::string code_;
};

/// For a worker of the check's own that runs a function of the learner: when it has ended because a
/// hole is not filled, the check ends with that too. Before anything is required of its end.
void pass_on_not_done(mp::Process& worker);

struct CheckCase {
  std::string_view name;  ///< a sentence: what must be so
  void (*run)(CheckRun& run);
  std::int64_t least;  ///< how many requirements it makes at least: a case that looks at nothing
                       ///< is a defect of the check, not a pass
};

/// The main of a check, after mp::init. Options: --seed S, --repeat R, --start-method M.
/// @return 0 passed, 1 failed, 7 a hole is not filled, 64 a wrong option, 70 a defect of the check
[[nodiscard]] int run_checks(int argc, char** argv, std::span<const CheckCase> cases);

}  // namespace plab::lab
