#pragma once
// SPDX-License-Identifier: Apache-2.0
// The first line of main.

namespace plab::mp {

/// Call it first in main, before anything that a worker should not do again:
///
///   int main(int argc, char** argv) {
///     plab::mp::init(argc, argv);
///
/// In a normal start it removes what killed processes left in /dev/shm and returns; in a process
/// that spawn or forkserver started it runs the function that was asked for and never returns.
/// A second call does nothing. fork works without it.
void init(int argc, char** argv);

}  // namespace plab::mp
