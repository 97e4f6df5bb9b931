// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/child.h"

#include <csignal>
#include <utility>

#include "plab/base/log.h"
#include "plab/base/timeline.h"
#include "plab/mp/archive.h"
#include "plab/mp/children.h"
#include "plab/mp/process_state.h"
#include "plab/mp/throw_trace.h"
#include "plab/os/mapping.h"
#include "plab/os/memfd.h"
#include "plab/os/pipe.h"
#include "plab/shm/wait_table.h"

namespace plab::mp {

namespace {

void become(const ChildInfo& info) {
  ProcessState& state = process_state();
  state.name = info.name;
  state.daemon = info.daemon;
  state.child = true;
  shm::wait_table::name_process(info.name.c_str());
  keep_throw_stacks();
  if (timeline::enabled()) {
    timeline::record({.kind = timeline::Kind::kStart, .label = info.name});
  }
}

void write_report(const ChildError& error, int report) noexcept {
  try {
    wire::Encoder out;
    wire::encode(out, error);
    os::write_full(report, out.finish(wire::type_id<ChildError>()), Deadline::never());
  } catch (const std::exception& problem) {
    log::error("[mp.child] the error of this process could not be handed on: {}", problem.what());
  }
}

void report_error(const ChildInfo& info, int report) noexcept {
  try {
    const ChildError error = describe(std::current_exception());
    write_report(error, report);
    if (info.print_errors) log::error("[mp.child] {} ended by {}", info.name, error.text());
  } catch (const std::exception& problem) {
    log::error("[mp.child] {}: its error could not be described: {}", info.name, problem.what());
  }
}

}  // namespace

void after_fork_in_child() noexcept {
  forget_children();
  forget_forkserver();
}

void run_child(const ChildInfo& info, const Parent& parent, int report,
               const std::function<void()>& body) noexcept {
  int code = 0;
  try {
    os::die_with_parent(parent.identity, parent.started_by);
    become(info);
    body();
  } catch (...) {
    report_error(info, report);
    code = 1;
  }
  exit_process(code);
}

std::optional<ChildError> read_report(int report) noexcept {
  try {
    const auto bytes = os::file_use(report).size;
    if (bytes == 0) return std::nullopt;
    const auto mapping = os::Mapping::shared(report, Bytes{bytes}, os::Access::kRead);
    return wire::decode<ChildError>(mapping.bytes());
  } catch (const std::exception& problem) {
    ChildError error;
    error.layers.push_back({"plab::CorruptError", problem.what()});
    return error;
  }
}

}  // namespace plab::mp
