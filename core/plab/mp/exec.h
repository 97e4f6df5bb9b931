#pragma once
// SPDX-License-Identifier: Apache-2.0
// The start method spawn: this program once more, with a letter that says what to do. For the files
// of mp.

namespace plab::mp {

/// What stands before the numbers in argv[1] of such a process.
inline constexpr const char* kChildArgument = "--plab-child=";

/// @throws ContractError naming the line to add, when main did not call init()
void require_init(const char* start_method);

/// If this process was started by spawn: does what its letter says and never returns.
void obey_if_child(int argc, char** argv);

}  // namespace plab::mp
