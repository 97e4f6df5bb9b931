// SPDX-License-Identifier: Apache-2.0
#include "plab/os/random.h"

#include <sys/random.h>

#include "plab/os/syscall.h"

namespace plab::os {

std::uint64_t random_u64() {
  std::uint64_t number = 0;
  if (retry([&] { return ::getrandom(&number, sizeof(number), 0); }) !=
      static_cast<ssize_t>(sizeof(number))) {
    fail("[os.random] getrandom(8)");
  }
  return number;
}

}  // namespace plab::os
