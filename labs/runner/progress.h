#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the learner has reached: one small JSON file, .lab/progress.json beside `lab` (in the build
// folder when that cannot be written). It is a cache of checks: a pass counts only as long as the
// learner's file and the check are what they were then.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "labs.h"

namespace plab::lab {

enum class State {
  kTodo,
  kFailed,
  kPassed,
  kStale,  ///< passed once; the file or the check has changed since
};

/// A sum (FNV-1a) that tells an edited text from the one before; `before` chains several texts.
[[nodiscard]] std::uint64_t hash_text(std::string_view text,
                                      std::uint64_t before = 0xcbf29ce484222325);

class Progress {
 public:
  explicit Progress(const Context& context);
  /// Keeps what a check found. Trouble with the file is told, not thrown: a lost note is no defect
  /// of the learner's work.
  void note(const Lab& lab, bool passed, const std::string& code);
  [[nodiscard]] State state(const Lab& lab) const;
  /// The verdict of the last check that failed; empty when there is none.
  [[nodiscard]] std::string last_code(const Lab& lab) const;
  /// How many hints of that verdict were shown.
  [[nodiscard]] int hints_shown(const Lab& lab) const;
  void note_hint(const Lab& lab, int shown);
  /// The learner asked for the solution without a pass.
  void note_given_up(const Lab& lab);
  [[nodiscard]] bool given_up(const Lab& lab) const;

 private:
  struct Entry;
  [[nodiscard]] std::string hash_of(const Lab& lab) const;
  [[nodiscard]] std::string value(const Lab& lab, const char* key) const;
  void set(const Lab& lab, const char* key, const std::string& value);

  const Context& context_;
  std::filesystem::path file_;
};

}  // namespace plab::lab
