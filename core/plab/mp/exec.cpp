// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/exec.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <string>

#include "plab/base/early.h"
#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/mp/letter.h"
#include "plab/mp/process_state.h"
#include "plab/mp/starter.h"
#include "plab/os/unique_fd.h"
#include "plab/shm/depot.h"

namespace plab::mp {

namespace {

// The descriptors of a fresh process, after standard input, output and error: the letter, the
// report, those of the shared memory, those of the connections.
constexpr int kLetterFd = 3;
constexpr int kReportFd = 4;
constexpr int kFirstDepotFd = 5;
constexpr int kFirstConnectionFd = 8;
constexpr int kMostDescriptors = 4096;

/// argv[1] of the child, after kChildArgument.
struct Numbers {
  int connections = 0;
  Parent parent;
};

std::string format_numbers(const Numbers& numbers) {
  return fmt::format("{}{},{},{},{}", kChildArgument, numbers.connections,
                     numbers.parent.identity.pid, numbers.parent.identity.start,
                     static_cast<int>(numbers.parent.started_by));
}

bool parse_numbers(const char* text, Numbers& numbers) {
  unsigned long long start = 0;
  int other_thread = 0;
  int end = 0;
  // NOLINTNEXTLINE(cert-err34-c): the widths keep each number in its type
  if (std::sscanf(text, "%9d,%9d,%20llu,%1d%n", &numbers.connections, &numbers.parent.identity.pid,
                  &start, &other_thread, &end) != 4) {
    return false;
  }
  numbers.parent.identity.start = start;
  if (other_thread == 1) numbers.parent.started_by = os::StartedBy::kOtherThread;
  return text[end] == '\0' && numbers.connections >= 0 && numbers.connections < kMostDescriptors;
}

class ExecStarter final : public Starter {
 public:
  [[nodiscard]] std::unique_ptr<Child> start(Job& job, const ChildInfo& info,
                                             const os::UniqueFd& report) override {
    require_init("spawn");
    Letter letter(job, info);
    const auto depot = shm::Depot::descriptors();
    const std::vector<int> connections = letter.connections();
    os::SpawnOptions options;
    options.descriptors = {{letter.descriptor(), kLetterFd}, {report.get(), kReportFd}};
    int next = kFirstDepotFd;
    for (const int number : depot) options.descriptors.emplace_back(number, next++);
    for (const int number : connections) options.descriptors.emplace_back(number, next++);
    const Numbers numbers{static_cast<int>(connections.size()), this_parent()};
    options.argv = {process_state().program, format_numbers(numbers)};
    options.env = os::environment();
    std::cout.flush();
    std::fflush(nullptr);
    os::Process process = os::spawn_process("/proc/self/exe", options);
    return child_with_letter(own_child(std::move(process)), std::move(letter));
  }
};

std::vector<int> numbers_from(int first, int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

[[noreturn]] void refuse(const char* argument, const char* problem) {
  log::error("[mp.init] {}: {}; this argument is for processes that plab starts", argument,
             problem);
  std::_Exit(64);
}

}  // namespace

void require_init(const char* start_method) {
  if (process_state().init_called) return;
  throw ContractError(fmt::format(
      "[mp.init] the start method {} runs this program once more, and its main does not call init; "
      "make this the first line of main(int argc, char** argv): plab::mp::init(argc, argv);",
      start_method));
}

void obey_if_child(int argc, char** argv) {
  if (argc != 2 || std::strncmp(argv[1], kChildArgument, std::strlen(kChildArgument)) != 0) return;
  Numbers numbers;
  if (!parse_numbers(argv[1] + std::strlen(kChildArgument), numbers)) {
    refuse(argv[1], "the numbers are not valid");
  }
  const int last = kFirstConnectionFd + numbers.connections;
  for (int number = kLetterFd; number < last; ++number) {
    if (!os::is_open(number)) refuse(argv[1], "a descriptor is missing");
    os::set_inherit(number, os::Inherit::kNo);
  }
  try {
    shm::Depot::adopt({os::UniqueFd(kFirstDepotFd), os::UniqueFd(kFirstDepotFd + 1),
                       os::UniqueFd(kFirstDepotFd + 2)});
  } catch (const std::exception& problem) {
    refuse(argv[1], problem.what());
  }
  const auto connections = numbers_from(kFirstConnectionFd, numbers.connections);
  obey_letter(os::UniqueFd(kLetterFd), os::UniqueFd(kReportFd), numbers.parent, connections);
}

Starter& exec_starter() {
  static ExecStarter starter;
  return starter;
}

namespace {
const Early g_early_exec([] { (void)exec_starter(); });
}

}  // namespace plab::mp
