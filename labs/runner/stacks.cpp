// SPDX-License-Identifier: Apache-2.0
#include "stacks.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "number.h"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/process.h"
#include "plab/os/stack_request.h"
#include "plab/os/temp.h"
#include "plab/os/unique_fd.h"

namespace plab::lab {

namespace {

using Calls = std::vector<Call>;

/// By module and offset: what addr2line knows.
using Known = std::map<std::pair<std::string, std::uint64_t>, Calls>;

/// One run of addr2line for a module.
void look_up(const std::string& module, const std::vector<std::uint64_t>& offsets, Known& known) {
  const os::TempFolder folder("plab-addr2line-");
  const auto printed = folder.path() / "printed";
  os::UniqueFd out(::open(printed.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!out) return;
  std::vector<std::string> argv{"env", "addr2line", "-a", "-f", "-C", "-i", "-e", module};
  for (const std::uint64_t offset : offsets) argv.push_back(fmt::format("{:#x}", offset));
  os::Process program =
      os::spawn_process("/usr/bin/env", {.argv = argv,
                                         .env = os::environment(),
                                         .descriptors = {{out.get(), 1}, {out.get(), 2}},
                                         .new_group = os::NewGroup::kNo});
  if (!program.wait(Deadline::never())->success()) return;
  auto calls = read_addr2line(os::read_file(printed));
  for (std::size_t i = 0; i < offsets.size() && i < calls.size(); ++i) {
    known[{module, offsets[i]}] = std::move(calls[i]);
  }
}

Known look_up_all(const std::vector<os::StackAnswer>& answers) {
  std::map<std::string, std::vector<std::uint64_t>> offsets;
  for (const os::StackAnswer& answer : answers) {
    for (const os::StackAddress& call : answer.calls) {
      if (!call.module.empty()) offsets[call.module].push_back(call.offset);
    }
  }
  Known known;
  for (auto& [module, list] : offsets) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    try {
      look_up(module, list, known);
    } catch (const Error&) {
      continue;  // without lines, then
    }
  }
  return known;
}

Call named_only(const os::StackAddress& address) {
  return {.function = address.symbol.empty() ? "?" : demangle(address.symbol.c_str()),
          .file = {},
          .line = 0};
}

Calls calls_of(const os::StackAnswer& answer, const Known& known) {
  Calls all;
  for (const os::StackAddress& address : answer.calls) {
    const auto found = known.find({address.module, address.offset});
    const bool says_nothing =
        found == known.end() || found->second.empty() || found->second.front().function == "?";
    if (says_nothing) {
      all.push_back(named_only(address));
    } else {
      all.insert(all.end(), found->second.begin(), found->second.end());
    }
  }
  return all;
}

/// "void (anonymous namespace)::f<int>(int)": "f".
std::string short_name(std::string function) {
  constexpr std::string_view kNowhere = "(anonymous namespace)::";
  for (auto at = function.find(kNowhere); at != std::string::npos; at = function.find(kNowhere)) {
    function.erase(at, kNowhere.size());
  }
  function.resize(std::min(function.size(), function.find_first_of("(<", 1)));
  const auto type = function.rfind(' ');
  return type == std::string::npos ? function : function.substr(type + 1);
}

/// As a learner knows it: below the root of the project.
std::string short_path(const std::string& file) {
  for (const char* const folder : {"/tests/labs/", "/solutions/", "/labs/"}) {
    if (const auto at = file.rfind(folder); at != std::string::npos) return file.substr(at + 1);
  }
  return file;
}

bool is_learners(const Call& call) {
  return call.file.ends_with("/lab.cpp") || call.file.find("/mutants/") != std::string::npos;
}

std::string in_words(const Call& call) {
  const std::string name = short_name(call.function);
  return call.file.empty() ? name
                           : fmt::format("{} at {}:{}", name, short_path(call.file), call.line);
}

std::vector<ThreadStack> with_lines(const std::vector<os::StackAnswer>& answers) {
  const Known known = look_up_all(answers);
  std::vector<ThreadStack> all;
  all.reserve(answers.size());
  for (const os::StackAnswer& answer : answers) {
    all.push_back({.pid = answer.pid,
                   .tid = answer.tid,
                   .signal = answer.signal,
                   .calls = calls_of(answer, known)});
  }
  return all;
}

}  // namespace

std::vector<std::vector<Call>> read_addr2line(const std::string& printed) {
  std::vector<Calls> all;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      all.emplace_back();
      continue;
    }
    std::string place;
    if (all.empty() || !std::getline(lines, place)) break;
    Call call{.function = line == "??" ? "?" : line, .file = {}, .line = 0};
    const auto colon = place.rfind(':');
    if (!place.starts_with("??") && colon != std::string::npos) {
      call.line = leading_number(place.substr(colon + 1));  // "12 (discriminator 3)" too
      if (call.line > 0) call.file = place.substr(0, colon);
    }
    all.back().push_back(std::move(call));
  }
  return all;
}

std::vector<ThreadStack> take_stacks(const std::vector<int>& pids,
                                     const std::filesystem::path& folder) {
  const Deadline patience = Deadline::after(std::chrono::seconds(1));
  std::vector<os::StackAnswer> answers;
  for (const int pid : pids) {
    for (os::StackAnswer& answer : os::ask_for_stacks(pid, folder, patience)) {
      answers.push_back(std::move(answer));
    }
  }
  return with_lines(answers);
}

std::vector<ThreadStack> read_fault_stacks(const std::filesystem::path& folder) {
  return with_lines(os::read_faults(folder));
}

std::string place_of(const ThreadStack& stack) {
  const auto& calls = stack.calls;
  auto best = std::ranges::find_if(calls, is_learners);
  if (best == calls.end()) {
    best = std::ranges::find_if(
        calls, [](const Call& call) { return call.file.find("/labs/") != std::string::npos; });
  }
  if (best == calls.end()) {
    best = std::ranges::find_if(calls, [](const Call& call) { return !call.file.empty(); });
  }
  if (best == calls.end()) {
    best = std::ranges::find_if(calls, [](const Call& call) { return call.function != "?"; });
  }
  return best == calls.end() ? "" : in_words(*best);
}

std::string maker_in(const ThreadStack& stack) {
  const auto outermost = [&](auto is) {
    const auto found = std::find_if(stack.calls.rbegin(), stack.calls.rend(), is);
    return found == stack.calls.rend() ? std::string() : in_words(*found);
  };
  std::string place = outermost(is_learners);
  if (place.empty()) {
    place = outermost([](const Call& call) {
      return call.file.find("/labs/") != std::string::npos && call.function != "main";
    });
  }
  return place;
}

std::string text_of(const std::vector<ThreadStack>& stacks) {
  std::string text;
  for (const ThreadStack& stack : stacks) {
    text += fmt::format("process {} thread {}{}\n", stack.pid, stack.tid,
                        stack.calls.empty() ? ": did not answer" : "");
    for (const Call& call : stack.calls) text += "    " + in_words(call) + "\n";
    text += "\n";
  }
  return text;
}

}  // namespace plab::lab
