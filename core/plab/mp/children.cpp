// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/children.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <mutex>
#include <vector>

#include "plab/base/early.h"
#include "plab/base/log.h"
#include "plab/mp/process_state.h"

namespace plab::mp {

namespace {

struct Daemons {
  std::mutex mutex;
  std::vector<std::shared_ptr<Child>> running;  // protected by mutex
  Daemons* parents = nullptr;  // of the process that forked this one: kept, as a leak has no owner
};

// Behind a pointer, and never freed: a forked child takes a new one, whatever state the old is in,
// and the end of a process must find it after static objects are gone.
Daemons*& daemons() {
  static auto* list = new Daemons;  // NOLINT(cppcoreguidelines-owning-memory): see above
  return list;
}

const Early g_early_children([] { (void)daemons(); });

}  // namespace

void end_child(Child& child, Deadline gently) noexcept {
  try {
    if (child.wait(Deadline::passed())) return;
    child.kill(SIGTERM);
    if (child.wait(gently)) return;
    child.kill(SIGKILL);
    // Without limit: SIGKILL cannot be refused, and a child that is not reaped is a zombie.
    (void)child.wait(Deadline::never());
  } catch (const std::exception& problem) {
    log::error("[mp.process] process {} could not be ended: {}", child.pid(), problem.what());
  }
}

void add_daemon(const std::shared_ptr<Child>& child) {
  finish_at_exit();
  Daemons& list = *daemons();
  const std::scoped_lock lock(list.mutex);
  list.running.push_back(child);
}

void remove_daemon(const std::shared_ptr<Child>& child) noexcept {
  Daemons& list = *daemons();
  const std::scoped_lock lock(list.mutex);
  std::erase(list.running, child);
}

void forget_children() noexcept {
  auto* const own = new Daemons;  // NOLINT(cppcoreguidelines-owning-memory): see daemons()
  own->parents = daemons();
  daemons() = own;
}

void end_daemons() noexcept {
  std::vector<std::shared_ptr<Child>> running;
  {
    Daemons& list = *daemons();
    const std::scoped_lock lock(list.mutex);
    running.swap(list.running);
  }
  const Deadline gently = Deadline::after(kGentle);
  try {
    for (const auto& child : running) child->kill(SIGTERM);
  } catch (const std::exception& problem) {
    log::error("[mp.process] a daemon could not be ended: {}", problem.what());
  }
  for (const auto& child : running) end_child(*child, gently);
}

}  // namespace plab::mp
