#pragma once
// SPDX-License-Identifier: Apache-2.0
// A Python script beside the test that talks in lines: it answers each line that it is sent.

#include <string>
#include <vector>

#include "plab/os/process.h"
#include "plab/os/unique_fd.h"

namespace plab::test {

/// A running script. Ends it with SIGKILL when it goes.
class Python {
 public:
  /// @param script its name in tests/twins
  Python(const std::string& script, const std::vector<std::string>& arguments);
  ~Python();
  Python(const Python&) = delete;
  Python& operator=(const Python&) = delete;

  /// The next line that it prints; empty when it has ended.
  [[nodiscard]] std::string read_line();
  void send_line(const std::string& line);
  [[nodiscard]] os::ExitStatus wait();

 private:
  os::UniqueFd in_, out_;
  os::Process process_;
};

}  // namespace plab::test
