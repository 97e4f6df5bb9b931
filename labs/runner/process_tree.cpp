// SPDX-License-Identifier: Apache-2.0
#include "process_tree.h"

#include <fmt/format.h>

#include <sstream>

#include "plab/os/file.h"

namespace plab::lab {

namespace {

std::vector<int> children_of(int pid) {
  std::vector<int> all;
  try {
    for (const std::string& tid : os::list_folder(fmt::format("/proc/{}/task", pid), "")) {
      std::istringstream list(os::read_file(fmt::format("/proc/{}/task/{}/children", pid, tid)));
      for (int child = 0; list >> child;) all.push_back(child);
    }
  } catch (const std::exception&) {
    return all;  // it is gone
  }
  return all;
}

std::string line_of(const std::string& path) {
  try {
    const std::string text = os::read_file(path);
    return text.substr(0, text.find('\n'));
  } catch (const std::exception&) {
    return "?";
  }
}

char state_of(const std::string& stat) {
  const auto after_name = stat.rfind(')');
  return after_name == std::string::npos ? '?' : stat[after_name + 2];
}

}  // namespace

bool is_runnable(int pid) {
  for (const std::string& tid : os::list_folder(fmt::format("/proc/{}/task", pid), "")) {
    const char state = state_of(line_of(fmt::format("/proc/{}/task/{}/stat", pid, tid)));
    if (state == 'R' || state == 'D') return true;
  }
  return false;
}

double cpu_of(int pid) {
  try {
    const std::string stat = os::read_file(fmt::format("/proc/{}/stat", pid));
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string skip;
    for (int field = 3; field < 14; ++field) fields >> skip;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / 100;
  } catch (const std::exception&) {
    return 0;
  }
}

std::vector<int> tree_below(int pid) {
  std::vector<int> all = children_of(pid);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<int> below = children_of(all[i]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::string command_of(int pid) {
  try {
    std::string name = os::read_file(fmt::format("/proc/{}/comm", pid));
    while (!name.empty() && name.back() == '\n') name.pop_back();
    return name;
  } catch (const std::exception&) {
    return "?";
  }
}

std::vector<std::string> threads_in_words(int pid) {
  std::vector<std::string> out;
  for (const std::string& tid : os::list_folder(fmt::format("/proc/{}/task", pid), "")) {
    const std::string folder = fmt::format("/proc/{}/task/{}", pid, tid);
    const char state = state_of(line_of(folder + "/stat"));
    out.push_back(fmt::format("process {} ({}) thread {}: {} in {}", pid, command_of(pid), tid,
                              state, line_of(folder + "/wchan")));
  }
  return out;
}

}  // namespace plab::lab
