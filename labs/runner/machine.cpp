// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <sys/ptrace.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "plab/base/deadline.h"
#include "plab/base/env.h"
#include "plab/base/error.h"
#include "plab/os/file.h"
#include "plab/os/process.h"

namespace plab::lab {

namespace {

std::string text_of(const char* path) {
  try {
    return os::read_file(path, 1 << 20);
  } catch (const Error&) {
    return {};
  }
}

std::string system_name() {
  std::istringstream release(text_of("/etc/os-release"));
  std::string name = "Linux";
  for (std::string line; std::getline(release, line);) {
    if (line.rfind("PRETTY_NAME=", 0) != 0) continue;
    name = line.substr(12);
    std::erase(name, '"');
  }
  utsname kernel{};
  if (::uname(&kernel) != 0) return name;
  return fmt::format("{}, {} {}", name, kernel.sysname, kernel.release);
}

// The cpu.max of control groups, version 2: "200000 100000" or "max 100000".
std::optional<double> read_core_quota() {
  std::istringstream text(text_of("/sys/fs/cgroup/cpu.max"));
  double quota = 0;
  double period = 0;
  if (!(text >> quota >> period) || period <= 0) return std::nullopt;
  return quota / period;
}

void try_tracing(Machine& machine) {
  const auto parent = os::self_identity();
  auto child = os::fork_process();
  if (!child) {
    os::signal_on_parent_death(SIGKILL, parent);
    for (;;) ::pause();
  }
  machine.pidfd = child->pidfd() >= 0;
  if (::ptrace(PTRACE_SEIZE, child->pid(), nullptr, nullptr) == 0) {
    machine.can_trace_child = true;
  } else {
    machine.trace_problem = errno_text(errno);
  }
  child->kill(SIGKILL);
  static_cast<void>(child->wait(Deadline::after(std::chrono::seconds(10))));
}

void read_gpu(Machine& machine) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1.2  ..."
  std::istringstream words(text_of("/proc/driver/nvidia/version"));
  for (std::string word; words >> word;) {
    if (word.find_first_not_of("0123456789.") != std::string::npos) continue;
    machine.gpu_driver = word;
    break;
  }
  while (std::filesystem::exists(fmt::format("/dev/nvidia{}", machine.gpu_nodes))) {
    ++machine.gpu_nodes;
  }
}

std::vector<std::string> read_unknown_variables() {
  std::vector<std::string> unknown;
  for (const std::string& entry : os::environment()) {
    const std::string name = entry.substr(0, entry.find('='));
    if (name.rfind("PLAB_", 0) != 0) continue;
    bool known = false;
    for (const env::Variable& variable : env::table()) known = known || variable.name == name;
    if (!known) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace

Machine read_machine() {
  Machine machine;
  machine.system = system_name();
  machine.compiler = PLAB_LAB_COMPILER;
  machine.cmake = PLAB_LAB_CMAKE;
  machine.cores = os::usable_cores();
  machine.core_quota = read_core_quota();
  machine.memory = os::memory();
  machine.dev_shm = os::dev_shm_space();
  machine.descriptors = os::descriptor_limit();
  if (const auto scope = text_of("/proc/sys/kernel/yama/ptrace_scope"); !scope.empty()) {
    machine.yama_scope = scope.front() - '0';
  }
  try_tracing(machine);
  read_gpu(machine);
  machine.unknown_variables = read_unknown_variables();
  return machine;
}

}  // namespace plab::lab
