// SPDX-License-Identifier: Apache-2.0
#include "plab/base/env.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "plab/base/error.h"

namespace plab::env {

namespace {

constexpr std::array kTable{
    Variable{"PLAB_LOG", "warning", "least level that is logged: debug, info, warning, error, off"},
    Variable{"PLAB_TIMELINE", "", "folder for the timeline of this program; unset: none is kept"},
    Variable{"PLAB_TIMELINE_EVENTS", "16384", "events that the timeline keeps per process"},
    Variable{"PLAB_WATCH", "0",
             "1: a deadlock of this program is explained and ended (exit code 3)"},
    Variable{"PLAB_WATCH_SVG", "", "file for the picture of such a deadlock"},
    Variable{"PLAB_WATCH_TABLE", "",
             "file of the table of waits that a watcher reads; a watcher sets it"},
    Variable{"PLAB_SPIN_US", "measured",
             "longest time in microseconds that a waiter spins before it sleeps; 0: never spin"},
    Variable{"PLAB_ARENA_MIB", "from RAM",
             "address space in MiB that one arena of shared memory reserves"},
    Variable{"PLAB_SHARING_STRATEGY", "file_descriptor",
             "how shared memory is handed on: file_descriptor or file_system"},
    Variable{"PLAB_START_METHOD", "fork", "default start method: fork, spawn or forkserver"},
    Variable{"PLAB_NUM_THREADS", "1", "threads that a matrix product uses in one process"},
    Variable{"PLAB_BUILD", "build", "where ./lab builds (read by ./lab itself)"},
};

const Variable& find(std::string_view name) {
  const auto* const it = std::ranges::find(kTable, name, &Variable::name);
  if (it == kTable.end()) {
    throw ContractError(
        fmt::format("[base.env] {} is not in the table of variables; add it to env.cpp", name));
  }
  return *it;
}

}  // namespace

std::span<const Variable> table() noexcept { return kTable; }

std::optional<std::string> get(std::string_view name) {
  const char* value = std::getenv(std::string(find(name).name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::optional<std::int64_t> get_int(std::string_view name, std::int64_t low, std::int64_t high) {
  const auto text = get(name);
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, number);
  if (problem != std::errc{} || stop != end || number < low || number > high) {
    throw ContractError(
        fmt::format("[base.env] {}={} is not valid; give a whole number from {} to {}", name, *text,
                    low, high));
  }
  return number;
}

bool get_bool(std::string_view name, bool fallback) {
  const auto text = get(name);
  if (!text) return fallback;
  for (const auto* yes : {"1", "on", "true", "yes"}) {
    if (*text == yes) return true;
  }
  for (const auto* no : {"0", "off", "false", "no"}) {
    if (*text == no) return false;
  }
  throw ContractError(fmt::format("[base.env] {}={} is not valid; give 1 or 0", name, *text));
}

}  // namespace plab::env
