// SPDX-License-Identifier: Apache-2.0
#include "dev_new.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "labs.h"
#include "plab/base/error.h"
#include "plab/os/file.h"

namespace plab::lab {

namespace {

namespace fs = std::filesystem;

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

bool is_id(const std::string& id) {
  const auto fits = [](unsigned char c) {
    return (std::islower(c) != 0) || (std::isdigit(c) != 0) || c == '-';
  };
  return !id.empty() && std::ranges::all_of(id, fits) && !id.starts_with('-') &&
         !id.ends_with('-') && id.find("--") == std::string::npos;
}

/// Where a file of the template goes, relative to the root.
fs::path place_of(const std::string& name, const std::string& folder) {
  if (name == "solution.cpp") return fs::path("solutions") / folder / "lab.cpp";
  const bool is_test = name == "check.cpp" || name.starts_with("mutants/");
  return fs::path(is_test ? "tests/labs" : "labs") / folder / name;
}

/// The line of the lab goes before that of the first lab with a higher number.
void add_to_build(const Context& context, const std::string& folder, const std::string& mutants) {
  const fs::path file = context.source / "labs" / "CMakeLists.txt";
  std::istringstream lines(os::read_file(file));
  const std::string call = fmt::format("plab_lab({} MUTANTS {})\n", folder, mutants);
  std::string out;
  bool done = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string_view start = "plab_lab(";
    if (!done && line.starts_with(start) && line.substr(start.size()) > folder) {
      out += call;
      done = true;
    }
    out += line + "\n";
  }
  if (!done) out += call;
  os::write_file(file, out);
}

/// The number of the new lab. @throws ContractError for an id or a number that cannot be
int checked_number(const std::vector<Lab>& labs, const std::string& id, std::optional<int> number) {
  if (!is_id(id)) {
    throw ContractError(fmt::format(
        "\"{}\" is no id for a lab: lower-case letters, digits and single hyphens, as fork-lock",
        id));
  }
  const int own = number.value_or(labs.empty() ? 1 : labs.back().number + 1);
  if (own < 1 || own > 99) {
    throw ContractError(fmt::format("a lab's number is 1 to 99, not {}", own));
  }
  for (const Lab& lab : labs) {
    if (lab.id == id || lab.number == own) {
      throw ContractError(fmt::format("there is lab {} \"{}\" already", lab.short_name(), lab.id));
    }
  }
  return own;
}

}  // namespace

std::vector<std::string> make_lab(const Context& context, const std::string& id,
                                  std::optional<int> number) {
  const int own = checked_number(read_labs(context), id, number);
  const std::string folder = fmt::format("{:02}_{}", own, id);
  const fs::path from = context.source / "labs" / "template";
  std::vector<std::string> written;
  std::string mutants;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), from));
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::string text = os::read_file(from / file);
    replace_all(text, "@NN@", folder.substr(0, 2));
    replace_all(text, "@ID@", id);
    replace_all(text, "@FOLDER@", folder);
    const std::string name = file.string().substr(0, file.string().size() - 3);  // without ".in"
    const fs::path place = place_of(name, folder);
    fs::create_directories((context.source / place).parent_path());
    os::write_file(context.source / place, text);
    written.push_back(place.string());
    if (name.starts_with("mutants/"))
      mutants += (mutants.empty() ? "" : " ") + place.stem().string();
    if (name != "solution.cpp") continue;
    const fs::path skeleton = fs::path("labs") / folder / "lab.cpp";
    fs::create_directories((context.source / skeleton).parent_path());
    os::write_file(context.source / skeleton, cut_skeleton(text, place.string()));
    written.push_back(skeleton.string());
  }
  add_to_build(context, folder, mutants);
  return written;
}

std::vector<std::string> unwritten(const Context& context, const std::string& folder) {
  std::vector<std::string> found;
  const fs::path lab = fs::path("labs") / folder;
  for (const char* const name : {"README.md", "lab.toml", "demo.cpp"}) {
    const fs::path file = context.source / lab / name;
    if (!fs::exists(file)) continue;
    std::istringstream lines(os::read_file(file));
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.find("TO WRITE") == std::string::npos) continue;
      found.push_back(fmt::format("{}:{}", (lab / name).string(), number));
    }
  }
  return found;
}

}  // namespace plab::lab
