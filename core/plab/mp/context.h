#pragma once
// SPDX-License-Identifier: Apache-2.0
// How new processes come into being, and what this process knows about itself.

#include <optional>
#include <string>
#include <string_view>

namespace plab::mp {

/// kFork: a copy of this process: fast, arguments are not copied over, threads do not come along.
/// kSpawn: a fresh process of the same program: clean, arguments are serialised.
/// kForkServer: a fork of a fresh helper process that has no threads: clean as spawn, fast as fork.
/// `plab::mp::init(argc, argv)` as the first line of main is needed for the last two.
enum class StartMethod { kFork, kSpawn, kForkServer };

/// "fork", "spawn", "forkserver".
[[nodiscard]] std::string_view name_of(StartMethod method) noexcept;
/// @throws ContractError for any other text, naming the valid ones
[[nodiscard]] StartMethod parse_start_method(std::string_view name);

enum class Force { kNo, kYes };
/// Sets the start method of this process. Once: libraries can rely on it. kForkServer starts the
/// server at once, so call it early, before there are threads and large data.
/// @throws ContractError "context has already been set" at a second call without Force::kYes
void set_start_method(StartMethod method, Force force = Force::kNo);
/// What was set; else what PLAB_START_METHOD says; else kFork.
/// @throws ContractError for a bad PLAB_START_METHOD
[[nodiscard]] StartMethod get_start_method();

/// Ends this process's fork server and with it the processes that it started; the next start by
/// forkserver begins a new one. Happens by itself at exit.
void stop_forkserver() noexcept;

/// The name of this process: "main", or what its Process was given.
[[nodiscard]] std::string current_process_name();
/// Whether this process was started as a daemon (which may start no processes).
[[nodiscard]] bool current_process_is_daemon() noexcept;
/// Whether this process was started by plab (not: the first one).
[[nodiscard]] bool in_child() noexcept;

/// Ends this process now, as the end of its function does: daemons are ended, queues are flushed,
/// standard streams too. No destructor of a live object runs.
/// @blocks until queues that were not cancelled are flushed
[[noreturn]] void exit_process(int code);

}  // namespace plab::mp
