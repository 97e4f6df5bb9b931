// SPDX-License-Identifier: Apache-2.0
#include "verb.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

namespace plab::lab {

std::optional<int> parse_options(CLI::App& app, const Arguments& arguments) {
  try {
    Arguments reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes the last word first
    app.parse(std::move(reversed));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return kExitPassed;
  } catch (const CLI::ParseError& error) {
    std::cerr << app.get_name() << ": " << error.what() << "\n"
              << "its options are shown by:  ./" << app.get_name() << " --help\n";
    return kExitUsage;
  }
}

bool is_terminal(int fd) noexcept { return ::isatty(fd) == 1; }

}  // namespace plab::lab
