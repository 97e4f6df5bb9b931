// SPDX-License-Identifier: Apache-2.0
// The doctor's judgement: readings in, findings out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doctor.h"

namespace plab::lab {

namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kLeastMemory =
    1024 * kMiB;  // the demo with 2 processes takes well under it
constexpr std::uint64_t kLeastShm = 64 * kMiB;
constexpr std::uint64_t kLeastDescriptors = 128;

std::string mib(std::uint64_t bytes) { return fmt::format("{} MiB", bytes / kMiB); }

Finding judge_cores(const Machine& machine) {
  Finding finding{"cores", fmt::format("{} usable", machine.cores), Judgement::kOk, {}};
  if (machine.core_quota) {
    finding.value += fmt::format(", limited to the time of {:.1f}", *machine.core_quota);
  }
  if (machine.core_quota && *machine.core_quota < machine.cores) {
    finding.state = Judgement::kNote;
    finding.remedy = "speed-ups stay below the number of cores: raise the container's CPU limit";
  }
  if (machine.cores < 2) {
    finding.state = Judgement::kNote;
    finding.remedy =
        "with one core several processes are no faster than one: give this shell or "
        "container more cores (taskset, --cpus)";
  }
  return finding;
}

Finding judge_memory(const Machine& machine) {
  const os::Memory& memory = machine.memory;
  Finding finding{"memory",
                  fmt::format("{} free of {}", mib(memory.usable()), mib(memory.total)),
                  Judgement::kOk,
                  {}};
  if (memory.group_limit) {
    finding.value += fmt::format(", control group's limit {}", mib(*memory.group_limit));
  }
  if (memory.usable() < kLeastMemory) {
    finding.state = Judgement::kProblem;
    finding.remedy = fmt::format("free some: builds and labs want {}", mib(kLeastMemory));
  }
  return finding;
}

Finding judge_shm(const Machine& machine) {
  if (!machine.dev_shm) {
    return {"/dev/shm", "not mounted", Judgement::kProblem,
            "named shared memory (PLAB_SHARING_STRATEGY=file_system) fails: mount -t tmpfs tmpfs "
            "/dev/shm, as root"};
  }
  const os::FolderSpace& space = *machine.dev_shm;
  Finding finding{"/dev/shm",
                  fmt::format("{}, {} in use", mib(space.size), mib(space.size - space.free)),
                  Judgement::kOk,
                  {}};
  if (space.free < kLeastShm) {
    finding.state = Judgement::kNote;
    finding.remedy =
        "tight for named shared memory: look what fills it (ls -l /dev/shm), or start the "
        "container with --shm-size=1g; the default strategy does not use it";
  }
  return finding;
}

Finding judge_descriptors(const Machine& machine) {
  const os::DescriptorLimit& limit = machine.descriptors;
  Finding finding{
      "descriptors", fmt::format("{} (up to {})", limit.soft, limit.hard), Judgement::kOk, {}};
  if (limit.soft < kLeastDescriptors) {
    finding.state = Judgement::kProblem;
    finding.remedy = fmt::format("raise the limit in this shell: ulimit -n {}",
                                 std::min<std::uint64_t>(1024, limit.hard));
  }
  return finding;
}

Finding judge_tracing(const Machine& machine) {
  const std::string yama =
      machine.yama_scope ? fmt::format("Yama {}", *machine.yama_scope) : "no Yama";
  if (machine.can_trace_child) {
    return {"ptrace", fmt::format("own children can be traced ({})", yama), Judgement::kOk, {}};
  }
  return {
      "ptrace", fmt::format("refused: {} ({})", machine.trace_problem, yama), Judgement::kNote,
      machine.yama_scope.value_or(0) >= 2
          ? "only debuggers miss it (plab asks hung processes itself): sysctl "
            "kernel.yama.ptrace_scope=1, as root"
          : "only debuggers miss it (plab asks hung processes itself): start the container with "
            "--cap-add=SYS_PTRACE"};
}

Finding judge_gpu(const Machine& machine) {
  if (machine.gpu_driver.empty() && machine.gpu_nodes == 0) {
    return {"GPU",
            "none: this kernel has no NVIDIA driver; nothing here needs one",
            Judgement::kOk,
            {}};
  }
  if (machine.gpu_driver.empty()) {
    return {"GPU", fmt::format("{} device nodes, but no driver in the kernel", machine.gpu_nodes),
            Judgement::kNote, "install NVIDIA's driver for this kernel, or ignore the GPU"};
  }
  if (machine.gpu_nodes == 0) {
    return {"GPU", fmt::format("driver {}, but no /dev/nvidia0 here", machine.gpu_driver),
            Judgement::kNote, "start the container with its GPUs (--gpus all), or ignore the GPU"};
  }
  return {"GPU",
          fmt::format("{} with driver {}", machine.gpu_nodes, machine.gpu_driver),
          Judgement::kOk,
          {}};
}

}  // namespace

std::vector<Finding> judge(const Machine& machine) {
  std::vector<Finding> findings{
      {"system", machine.system, Judgement::kOk, {}},
      {"compiler", machine.compiler, Judgement::kOk, {}},
      {"CMake", machine.cmake, Judgement::kOk, {}},
      judge_cores(machine),
      judge_memory(machine),
      judge_shm(machine),
      judge_descriptors(machine),
  };
  if (machine.pidfd) {
    findings.push_back({"pidfd", "there", Judgement::kOk, {}});
  } else {
    findings.push_back({"pidfd", "not there (kernel before 5.3, or forbidden by the container)",
                        Judgement::kNote,
                        "waiting for processes polls every few milliseconds instead; a newer "
                        "kernel or seccomp profile mends it"});
  }
  findings.push_back(judge_tracing(machine));
  findings.push_back(judge_gpu(machine));
  if (!machine.unknown_variables.empty()) {
    findings.push_back(
        {"environment",
         fmt::format("not read by plab: {}", fmt::join(machine.unknown_variables, ", ")),
         Judgement::kNote, "a misspelt name? ./lab env lists those that are read"});
  }
  return findings;
}

}  // namespace plab::lab
