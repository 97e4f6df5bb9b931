// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "number.h"
#include "plab/base/error.h"
#include "plab/os/file.h"

namespace plab::lab {

namespace {

using nlohmann::json;

json read(const std::filesystem::path& file) {
  try {
    json all = json::parse(os::read_file(file));
    if (all.is_object()) return all;
  } catch (const std::exception&) {
    return json::object();  // none yet, or damaged: checks bring it back
  }
  return json::object();
}

}  // namespace

std::uint64_t hash_text(std::string_view text, std::uint64_t before) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return before;
}

Progress::Progress(const Context& context)
    : context_(context), file_(context.source / ".lab" / "progress.json") {
  std::error_code problem;
  std::filesystem::create_directories(file_.parent_path(), problem);
  if (problem) file_ = context.build / ".lab" / "progress.json";
  std::filesystem::create_directories(file_.parent_path(), problem);
}

std::string Progress::hash_of(const Lab& lab) const {
  std::uint64_t sum = hash_text("");
  for (const auto& file : {lab.file(context_), context_.source / "labs" / lab.folder / "lab.hpp",
                           context_.source / "tests" / "labs" / lab.folder / "check.cpp"}) {
    try {
      sum = hash_text(os::read_file(file), sum);
    } catch (const SystemError&) {
      sum = hash_text("missing", sum);
    }
  }
  return fmt::format("{:016x}", sum);
}

std::string Progress::value(const Lab& lab, const char* key) const {
  const json all = read(file_);
  const auto found = all.find(lab.id);
  return found == all.end() || !found->is_object() ? std::string() : found->value(key, "");
}

void Progress::set(const Lab& lab, const char* key, const std::string& value) {
  json all = read(file_);
  all[lab.id][key] = value;
  try {
    os::write_file(file_, all.dump(2) + "\n");
  } catch (const Error& problem) {
    fmt::print(stderr, "lab: progress is not kept: {}\n", problem.what());
  }
}

void Progress::note(const Lab& lab, bool passed, const std::string& code) {
  if (passed) set(lab, "passed", hash_of(lab));
  if (code != last_code(lab)) set(lab, "hints", "0");
  set(lab, "code", code);
}

State Progress::state(const Lab& lab) const {
  const std::string passed = value(lab, "passed");
  if (passed.empty()) return last_code(lab).empty() ? State::kTodo : State::kFailed;
  return passed == hash_of(lab) ? State::kPassed : State::kStale;
}

std::string Progress::last_code(const Lab& lab) const { return value(lab, "code"); }
int Progress::hints_shown(const Lab& lab) const { return leading_number(value(lab, "hints")); }
void Progress::note_hint(const Lab& lab, int shown) { set(lab, "hints", std::to_string(shown)); }
void Progress::note_given_up(const Lab& lab) { set(lab, "given_up", "yes"); }
bool Progress::given_up(const Lab& lab) const { return !value(lab, "given_up").empty(); }

}  // namespace plab::lab
