#pragma once
// SPDX-License-Identifier: Apache-2.0
// Lab 02: what lab.cpp has to provide, and what it is given. Do not change this file.

#include <filesystem>

#include "plab/mp/context.h"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/os/unique_fd.h"

namespace lab02 {

/// What a child finds of what its parent had when it started the child.
struct Sight {
  bool global = false;       ///< a global variable has the value that the parent gave it
  bool thread = false;       ///< the parent's second thread runs in the child too
  bool descriptor = false;   ///< a file that the parent opened, close-on-exec, is open
  bool lock_held = false;    ///< a lock in the parent's own memory is held, as it was there
  bool random = false;       ///< the random generator goes on as the parent's will
  bool environment = false;  ///< there is a variable that the parent set with setenv
  template <class Archive>
  void serialize(Archive& archive) {
    archive(global, thread, descriptor, lock_held, random, environment);
  }
  friend bool operator==(const Sight&, const Sight&) = default;
};

/// What a child does to find out. Given.
void look(plab::mp::SimpleQueue<Sight> found);
/// Stands for what a program does once, at its start, and no worker again: it reads the data, opens
/// the port, asks the user. Given.
void load();
/// Takes numbers from `in` until one is negative and puts each times `factor` into `out`. Given.
void scale_all(double factor, plab::mp::SimpleQueue<double> in, plab::mp::SimpleQueue<double> out);

/// The first thing in main of the check's program: makes spawn and forkserver possible, and calls
/// load() in the first process only.
void start_up(int argc, char** argv);

/// What a child by this method will find. The fork server was started before the parent did any of
/// that (see set_start_method in plab/mp/context.h: it starts the server at once).
Sight predict(plab::mp::StartMethod method);

/// What a child by this method does find: starts look in a process, and waits for it.
Sight measure(plab::mp::StartMethod method);

/// Starts a process by this method that scales the numbers of `in` by `factor` into `out`.
plab::mp::Process start_scaling(plab::mp::StartMethod method, double factor,
                                const plab::mp::SimpleQueue<double>& in,
                                const plab::mp::SimpleQueue<double>& out);

/// Opens a log for appending, making it when it is not there. A program that this process starts (a
/// shell, a decoder) does not have it.
plab::os::UniqueFd open_log(const std::filesystem::path& path);

}  // namespace lab02
