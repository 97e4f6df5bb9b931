#pragma once
// SPDX-License-Identifier: Apache-2.0
// What this machine offers, read once; judging it is the doctor's part, so that the judgement can
// be tested on readings of machines that nobody has at hand.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plab/os/proc.h"

namespace plab::lab {

/// Everything that `lab doctor` looks at. A reading that could not be taken is empty.
struct Machine {
  std::string system;                ///< "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
  std::string compiler;              ///< that built this tool: "GNU 12.2.0"
  std::string cmake;                 ///< that configured this build: "3.25.1"
  int cores = 1;                     ///< that this process may run on
  std::optional<double> core_quota;  ///< of the control group; nothing without one
  os::Memory memory;
  std::optional<os::FolderSpace> dev_shm;
  os::DescriptorLimit descriptors;
  bool pidfd = false;
  std::optional<int> yama_scope;  ///< kernel.yama.ptrace_scope; nothing without Yama
  bool can_trace_child = false;
  std::string trace_problem;                   ///< why not
  std::string gpu_driver;                      ///< version of NVIDIA's driver, or empty
  int gpu_nodes = 0;                           ///< /dev/nvidia0, /dev/nvidia1 ...
  std::vector<std::string> unknown_variables;  ///< PLAB_ names in the environment that plab ignores
};

/// Takes the readings. Starts one child process, traces it, ends it.
[[nodiscard]] Machine read_machine();

}  // namespace plab::lab
