// SPDX-License-Identifier: Apache-2.0
#include "support/python.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>

#include "plab/base/error.h"
#include "support/gate.h"

namespace plab::test {

std::string python_interpreter() {
  const char* const named = std::getenv("PLAB_TEST_PYTHON");
  return named != nullptr ? named : "python3";
}

os::ExitStatus run_python(const std::vector<std::string>& arguments) {
  // env finds the interpreter in the PATH
  std::vector<std::string> words{"/usr/bin/env", python_interpreter()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  os::Process process =
      os::spawn_process(words[0], {.argv = words, .env = os::environment(), .descriptors = {}});
  const auto status = process.wait(patience());
  if (!status) process.kill(SIGKILL);
  return status.value_or(os::ExitStatus{.code = 0, .signal = SIGKILL});
}

bool python_has(const std::string& modules) {
  const std::string code =
      "import importlib.util as u, sys\n"
      "for name in sys.argv[1].split(', '):\n"
      "    try:\n"
      "        found = u.find_spec(name)\n"
      "    except ModuleNotFoundError:\n"
      "        found = None\n"
      "    if found is None: sys.exit(3)\n";
  const os::ExitStatus status = run_python({"-c", code, modules});
  if (status.success()) return true;
  if (std::getenv("PLAB_TEST_PYTHON") == nullptr) return false;
  throw Error(fmt::format(
      "[test.python] PLAB_TEST_PYTHON={} cannot be asked for the modules {} or lacks one ({}); "
      "install them there, or unset the variable so that tests that need them are skipped",
      python_interpreter(), modules, status.text()));
}

}  // namespace plab::test
