#pragma once
// SPDX-License-Identifier: Apache-2.0
// The labs that there are, as their folders and lab.toml files say.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verb.h"

namespace plab::lab {

/// What a verdict code means; the text that the learner gets about it.
struct VerdictText {
  std::string rule, why, look, explain;
  std::vector<std::string> hints;  ///< three, each saying more than the one before
};

struct Lab {
  static constexpr int kUsualLimit = 250;
  int number = 0;
  std::string folder;  ///< "01_processes"
  std::string id;      ///< "processes": for ever; the number may move
  std::string title, kind, pytorch;
  int minutes = 0;
  int cores = 1;
  int limit = kUsualLimit;  ///< of a check, in units of the machine (Calibration::unit)
  std::vector<std::string> start_methods, sanitizers;
  std::string demo;  ///< the verdict that its demo ends in; empty: it ends well
  std::map<std::string, std::string> hang;     ///< code of a proved deadlock to the lab's verdict
  std::map<std::string, std::string> mutants;  ///< name to the verdict that it must get
  std::map<std::string, VerdictText> verdicts;

  [[nodiscard]] std::filesystem::path file(const Context& context) const {
    return context.source / "labs" / folder / "lab.cpp";
  }
  [[nodiscard]] std::filesystem::path solution(const Context& context) const {
    return context.source / "solutions" / folder / "lab.cpp";
  }
  /// "01": how it is named on the command line.
  [[nodiscard]] std::string short_name() const { return folder.substr(0, 2); }
};

/// All labs by number.
/// @throws DataError for a lab.toml that lacks something or is damaged; names the file
[[nodiscard]] std::vector<Lab> read_labs(const Context& context);
/// "1", "01", "processes" or "01_processes"; nothing when there is none of that name.
[[nodiscard]] std::optional<Lab> find_lab(const std::vector<Lab>& labs, std::string_view name);
/// The text of a code: of the lab, or one of the tool's own (LAB-...). Nothing for an unknown one.
[[nodiscard]] std::optional<VerdictText> text_of(const Lab& lab, const std::string& code);
/// The skeleton that is cut from a solution: each part between `//! TODO(n): text` and `//! END`
/// becomes the text and a `throw plab::lab::NotDone{n};`.
/// @throws DataError naming the line, when a mark has no partner
[[nodiscard]] std::string cut_skeleton(const std::string& solution, const std::string& name);

}  // namespace plab::lab
