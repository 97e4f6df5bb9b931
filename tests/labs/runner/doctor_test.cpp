// SPDX-License-Identifier: Apache-2.0
#include "doctor.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

namespace plab::lab {
namespace {

constexpr std::uint64_t kGiB = 1U << 30U;

Machine healthy() {
  Machine machine;
  machine.system = "a system";
  machine.cores = 4;
  machine.memory.total = 16 * kGiB;
  machine.memory.available = 11 * kGiB;
  machine.dev_shm = os::FolderSpace{8 * kGiB, 7 * kGiB};
  machine.descriptors = {1024, 4096};
  machine.pidfd = true;
  machine.can_trace_child = true;
  return machine;
}

Finding find(const Machine& machine, std::string_view name) {
  const auto findings = judge(machine);
  const auto found = std::ranges::find(findings, name, &Finding::name);
  return found == findings.end() ? Finding{} : *found;
}

TEST_CASE("a healthy machine has no note and no problem", "[lab]") {
  for (const Finding& finding : judge(healthy())) {
    INFO(finding.name);
    REQUIRE(finding.state == Judgement::kOk);
    REQUIRE(finding.remedy.empty());
  }
  REQUIRE(find(healthy(), "/dev/shm").value == "8192 MiB, 1024 MiB in use");
}

TEST_CASE("everything that is wrong is found, and has a remedy", "[lab]") {
  Machine machine;
  machine.cores = 1;
  machine.core_quota = 0.5;
  machine.memory.total = kGiB;
  machine.memory.available = kGiB / 3;
  machine.descriptors = {64, 100};
  machine.yama_scope = 3;
  machine.gpu_driver = "535.1";
  machine.unknown_variables = {"PLAB_LGO"};
  int troubles = 0;
  for (const Finding& finding : judge(machine)) {
    INFO(finding.name);
    REQUIRE((finding.state == Judgement::kOk) == finding.remedy.empty());
    troubles += finding.state == Judgement::kOk ? 0 : 1;
  }
  REQUIRE(troubles == 8);
  REQUIRE(find(machine, "memory").state == Judgement::kProblem);
  REQUIRE(find(machine, "/dev/shm").state == Judgement::kProblem);
  REQUIRE(find(machine, "descriptors").remedy.find("ulimit -n 100") != std::string::npos);
  REQUIRE(find(machine, "environment").value.find("PLAB_LGO") != std::string::npos);
}

TEST_CASE("a control group's limit counts, not the machine's memory", "[lab]") {
  Machine machine = healthy();
  machine.memory.group_limit = kGiB;
  machine.memory.group_left = kGiB / 4;
  REQUIRE(find(machine, "memory").state == Judgement::kProblem);
}

TEST_CASE("a small /dev/shm and a small share of the cores are notes", "[lab]") {
  Machine machine = healthy();
  machine.dev_shm = os::FolderSpace{kGiB / 16, kGiB / 32};
  machine.core_quota = 1.5;
  REQUIRE(find(machine, "/dev/shm").state == Judgement::kNote);
  REQUIRE(find(machine, "cores").state == Judgement::kNote);
}

TEST_CASE("each way to lack a GPU is told apart", "[lab]") {
  Machine machine = healthy();
  REQUIRE(find(machine, "GPU").value.find("none") == 0);
  machine.gpu_nodes = 2;
  REQUIRE(find(machine, "GPU").state == Judgement::kNote);
  machine.gpu_driver = "535.1";
  REQUIRE(find(machine, "GPU").value == "2 with driver 535.1");
  machine.gpu_nodes = 0;
  REQUIRE(find(machine, "GPU").remedy.find("--gpus") != std::string::npos);
}

TEST_CASE("the readings of this machine are complete", "[lab]") {
  const Machine machine = read_machine();
  REQUIRE(!machine.system.empty());
  REQUIRE(!machine.compiler.empty());
  REQUIRE(machine.cores >= 1);
  REQUIRE(machine.memory.total > 0);
  REQUIRE(machine.descriptors.soft > 0);
  REQUIRE(machine.can_trace_child == machine.trace_problem.empty());
  REQUIRE(os::child_pids().empty());
}

}  // namespace
}  // namespace plab::lab
