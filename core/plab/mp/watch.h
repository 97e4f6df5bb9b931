#pragma once
// SPDX-License-Identifier: Apache-2.0
// PLAB_WATCH=1: a program that explains its own deadlocks. For mp::init.

namespace plab::mp {

/// With PLAB_WATCH=1 the process that was started becomes a watcher, and the program goes on in a
/// child of it: so nothing is added to the program but a parent, and a deadlock of its first
/// thread is seen too. The watcher hands SIGTERM on, ends as the program ends (same exit code, same
/// signal), and outlives none of it: when it is killed the program gets SIGTERM. On a deadlock it
/// writes the verdict to standard error and its picture to PLAB_WATCH_SVG, ends every process of
/// the program, and exits with code 3.
/// Does nothing without the variable, or where there is a table already. The first line of main:
/// no other thread may run.
/// @throws SystemError when there is no room for the table
void watch_if_asked();

}  // namespace plab::mp
