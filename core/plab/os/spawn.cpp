// SPDX-License-Identifier: Apache-2.0
// spawn_process of process.h.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <set>

#include "plab/os/process.h"
#include "plab/os/syscall.h"

namespace plab::os {

namespace {

// posix_spawn's two objects, released in the end.
struct SpawnState {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnState() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnState(const SpawnState&) = delete;
  SpawnState& operator=(const SpawnState&) = delete;
  ~SpawnState() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  // posix_spawn wants char* but does not write through it
  for (const auto& text : strings) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Number a of ours shall be number b of the child's, and perhaps number b of ours something else.
// A source that is also a target is moved out of the way first; the copies are closed afterwards.
std::vector<UniqueFd> add_descriptors(SpawnState& state,
                                      const std::vector<std::pair<int, int>>& descriptors,
                                      std::source_location where) {
  std::set<int> targets;
  for (const auto& [from, to] : descriptors) {
    if (!targets.insert(to).second || to < 0) {
      throw ContractError(
          fmt::format("[os.process] descriptor {} of the child is given twice or negative", to),
          where);
    }
  }
  std::vector<UniqueFd> moved;
  for (const auto& [from, to] : descriptors) {
    int source = from;
    if (from != to && targets.contains(from)) {
      UniqueFd copy(::fcntl(from, F_DUPFD_CLOEXEC, *targets.rbegin() + 1));
      if (!copy) fail(fmt::format("[os.process] duplicate descriptor {}", from), where);
      source = copy.get();
      moved.push_back(std::move(copy));
    }
    posix_spawn_file_actions_adddup2(&state.actions, source, to);  // clears close-on-exec if equal
  }
  return moved;
}

void set_attributes(SpawnState& state, NewGroup group) {
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&state.attributes, &all);
  posix_spawnattr_setsigmask(&state.attributes, &none);
  unsigned flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  if (group == NewGroup::kYes) {
    posix_spawnattr_setpgroup(&state.attributes, 0);
    flags |= POSIX_SPAWN_SETPGROUP;
  }
  posix_spawnattr_setflags(&state.attributes, static_cast<short>(flags));
}

}  // namespace

Process spawn_process(const std::string& path, const SpawnOptions& options,
                      std::source_location where) {
  if (options.argv.empty()) {
    throw ContractError("[os.process] argv is empty; its first entry is the program's name", where);
  }
  SpawnState state;
  const auto moved = add_descriptors(state, options.descriptors, where);
  set_attributes(state, options.new_group);
  pid_t pid = 0;
  const int code = ::posix_spawn(&pid, path.c_str(), &state.actions, &state.attributes,
                                 pointers(options.argv).data(), pointers(options.env).data());
  if (code == EAGAIN) {
    throw ResourceError(fmt::format("[os.process] spawn {}: {}; the limit of processes (ulimit -u) "
                                    "or of the control group is reached",
                                    path, errno_text(code)),
                        where);
  }
  if (code != 0) fail_code(fmt::format("[os.process] spawn {}", path), code, where);
  return Process::adopt(pid);
}

}  // namespace plab::os
