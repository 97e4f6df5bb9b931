#pragma once
// SPDX-License-Identifier: Apache-2.0
// The Python that tests compare plab with. Free of Catch2.

#include <string>
#include <vector>

#include "plab/os/process.h"

namespace plab::test {

/// PLAB_TEST_PYTHON, or python3 of the PATH.
[[nodiscard]] std::string python_interpreter();

/// Whether it has these modules ("torch, safetensors.numpy"), so that a test may skip.
/// @throws Error when PLAB_TEST_PYTHON names one that lacks them: somebody chose it for the tests,
/// and a skip would hide that
[[nodiscard]] bool python_has(const std::string& modules);

/// Runs it to its end, with the errors of this process; no shell is between.
[[nodiscard]] os::ExitStatus run_python(const std::vector<std::string>& arguments);

}  // namespace plab::test
