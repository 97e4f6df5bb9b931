// SPDX-License-Identifier: Apache-2.0
#include "twins/python.h"

#include <csignal>
#include <span>

#include "plab/os/pipe.h"
#include "support/gate.h"
#include "support/python.h"

namespace plab::test {

Python::Python(const std::string& script, const std::vector<std::string>& arguments) {
  os::Pipe to = os::create_pipe();
  os::Pipe from = os::create_pipe();
  // env finds the interpreter in the PATH
  std::vector<std::string> words{"/usr/bin/env", python_interpreter(), PLAB_TWINS "/" + script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  process_ =
      os::spawn_process(words[0], {.argv = words,
                                   .env = os::environment(),
                                   .descriptors = {{to.read.get(), 0}, {from.write.get(), 1}},
                                   .new_group = os::NewGroup::kNo});
  in_ = std::move(to.write);
  out_ = std::move(from.read);
}

Python::~Python() {
  process_.kill(SIGKILL);
  static_cast<void>(process_.wait(patience()));
}

std::string Python::read_line() {
  std::string line;
  for (std::byte byte{}; os::read_full(out_.get(), std::span(&byte, 1), patience()) == 1;) {
    if (byte == std::byte{'\n'}) break;
    line += static_cast<char>(byte);
  }
  return line;
}

void Python::send_line(const std::string& line) {
  const std::string text = line + "\n";
  os::write_full(in_.get(), std::as_bytes(std::span(text)), patience());
}

os::ExitStatus Python::wait() { return process_.wait(patience()).value(); }

}  // namespace plab::test
