// SPDX-License-Identifier: Apache-2.0
// The benchmarks are a program of their own, so that the lab tool stays quick to build: ./lab
// builds it when this verb is used.
#include "bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "plab/base/error.h"

namespace plab::lab {

int run_bench(const Context& context, const Arguments& arguments) {
  const std::string program = (context.build / "tests" / "bench" / "plab_bench").string();
  if (!std::filesystem::exists(program)) {
    fmt::print(stderr, "lab bench: {} is not built; start it as ./lab bench, which builds it\n",
               program);
    return kExitNotRunnable;
  }
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  ::execv(program.c_str(), argv.data());  // in place of this process: signals reach it as they are
  throw SystemError("[lab.bench] cannot start " + program, errno);
}

}  // namespace plab::lab
