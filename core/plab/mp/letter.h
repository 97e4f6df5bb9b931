#pragma once
// SPDX-License-Identifier: Apache-2.0
// What a fresh process is to do: a memfd with the function, the arguments and who it is. For the
// files of mp.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plab/mp/job.h"
#include "plab/mp/starter.h"
#include "plab/mp/wire.h"
#include "plab/os/mapping.h"
#include "plab/os/process.h"
#include "plab/os/unique_fd.h"

namespace plab::mp {

/// A letter as its writer has it. The references of its arguments belong to the child from the
/// moment that it opens the letter; a child that dies before leaves them to take_back().
class Letter {
 public:
  /// Serialises the arguments. @throws what they throw; ContractError for a job that only forks
  Letter(const Job& job, const ChildInfo& info);
  Letter(Letter&&) noexcept = default;
  Letter& operator=(Letter&&) noexcept = default;
  ~Letter() { take_back(); }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  /// Descriptors of Connections among the arguments: copies, so that the arguments may go.
  [[nodiscard]] std::vector<int> connections() const;
  /// The child has its own copies of all descriptors now.
  void delivered() noexcept;
  /// Gives back the references if the child never opened the letter. Call it when the child is
  /// dead; the destructor does.
  void take_back() noexcept;

 private:
  os::UniqueFd file_;
  os::Mapping mapping_;
  std::vector<os::UniqueFd> connections_;
};

/// A child that has got its letter: when it ends without having opened it, the references of its
/// arguments are given back.
[[nodiscard]] std::unique_ptr<Child> child_with_letter(std::unique_ptr<Child> child, Letter letter);

/// Opens the letter in `file` and does what it says; never returns.
/// @param parent with whom this process dies
/// @param connections the descriptors that came along; the function takes them over
[[noreturn]] void obey_letter(os::UniqueFd file, os::UniqueFd report, const Parent& parent,
                              std::span<const int> connections) noexcept;

}  // namespace plab::mp
