// SPDX-License-Identifier: Apache-2.0
// Uses an installed plab the way another project would; the test looks for the line it prints.
#include <cstdio>

#include "plab/base/deadline.h"
#include "plab/base/error.h"
#include "plab/os/pipe.h"

int main() {
  const auto pipe = plab::os::create_pipe();
  const std::byte sent[3] = {std::byte{7}, std::byte{11}, std::byte{13}};
  plab::os::write_full(pipe.write.get(), sent, plab::Deadline::never());
  std::byte seen[3] = {};
  const auto count = plab::os::read_full(pipe.read.get(), seen, plab::Deadline::never());
  try {
    throw plab::ContractError("caught");
  } catch (const plab::Error& error) {
    std::printf("consumer: %zu bytes, last %d, %s\n", count, static_cast<int>(seen[2]),
                error.what());
  }
}
