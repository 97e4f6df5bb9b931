// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/context.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>

#include "plab/base/early.h"
#include "plab/base/env.h"
#include "plab/base/error.h"
#include "plab/base/timeline.h"
#include "plab/mp/process_state.h"
#include "plab/mp/starter.h"

// Coverage counters are written at exit(); a child leaves by _Exit.
extern "C" void __gcov_dump() __attribute__((weak));

namespace plab::mp {

namespace {

constexpr std::array<std::string_view, 3> kNames{"fork", "spawn", "forkserver"};

std::mutex context_mutex;  // protects start_method; never held across a fork
std::optional<StartMethod> start_method;

}  // namespace

std::string_view name_of(StartMethod method) noexcept {
  return kNames.at(static_cast<std::size_t>(method));
}

StartMethod parse_start_method(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == name) return static_cast<StartMethod>(i);
  }
  throw ContractError(
      fmt::format("[mp.context] \"{}\" is no start method; give fork, spawn or forkserver", name));
}

void set_start_method(StartMethod method, Force force) {
  {
    const std::scoped_lock lock(context_mutex);
    if (start_method && force == Force::kNo) {
      throw ContractError(
          fmt::format("[mp.context] context has already been set: the start method is {}; set it "
                      "once, early in main, or pass Force::kYes",
                      name_of(*start_method)));
    }
    start_method = method;
  }
  starter_for(method).prepare();
}

StartMethod get_start_method() {
  {
    const std::scoped_lock lock(context_mutex);
    if (start_method) return *start_method;
  }
  const auto wanted = env::get("PLAB_START_METHOD");
  return wanted ? parse_start_method(*wanted) : StartMethod::kFork;
}

ProcessState& process_state() noexcept {
  static ProcessState state;
  return state;
}

namespace {
const Early g_early_context([] { (void)process_state(); });
}

std::string current_process_name() { return process_state().name; }
bool current_process_is_daemon() noexcept { return process_state().daemon; }
bool in_child() noexcept { return process_state().child; }

void finish_process() noexcept {
  end_daemons();
  join_feeders();
  stop_forkserver();
}

void finish_at_exit() {
  static constinit std::atomic<bool> once{false};
  if (once.exchange(true)) return;
  if (std::atexit([] { finish_process(); }) != 0)
    throw ResourceError("[mp.context] atexit has no room for another function");
}

void exit_process(int code) {
  finish_process();
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  timeline::record_exit(code);
  if (__gcov_dump != nullptr) __gcov_dump();
  std::_Exit(code);
}

}  // namespace plab::mp
