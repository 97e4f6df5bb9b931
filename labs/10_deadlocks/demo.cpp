// SPDX-License-Identifier: Apache-2.0
// Two locks and two processes: one is killed while it holds a lock, which the next one learns; then
// two take both locks in opposite orders, which never ends. The lab tool proves that and ends it.
#include <fmt/format.h>

#include <cstdio>

#include "plab/base/timeline.h"
#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/sync.h"

using namespace plab;

namespace {

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void hold(mp::Lock lock, mp::Event held) {
  (void)lock.acquire(Deadline::never());
  held.set();
  (void)mp::Event().wait(Deadline::after(std::chrono::seconds(10)));  // it is killed here
}

void a_killed_owner() {
  say("1. a process is killed by SIGKILL while it holds a lock");
  mp::Lock lock;
  mp::Event held;
  mp::Process owner(mp::ProcessOptions{.name = "owner"}, hold, lock, held);
  owner.start();
  (void)held.wait(Deadline::never());
  owner.kill();
  owner.join(Deadline::never());
  const mp::LockResult result = lock.acquire(Deadline::never());
  say(
      fmt::format("   acquire gives it to this process and says that process {} died with it;\n"
                  "   a lock of Python's multiprocessing would stay locked for ever",
                  result.dead_pid));
  lock.release();
}

void take_both(mp::Lock first, mp::Lock second, mp::Barrier both_have_one) {
  (void)first.acquire(Deadline::never());
  (void)both_have_one.wait(Deadline::never());
  const timeline::Span span("wants the second lock");
  (void)second.acquire(Deadline::never());
}

void opposite_orders() {
  say("2. one takes A and then B, another one B and then A");
  const mp::Lock a;
  const mp::Lock b;
  const mp::Barrier both_have_one(2);
  mp::Process one(mp::ProcessOptions{.name = "A then B"}, take_both, a, b, both_have_one);
  mp::Process other(mp::ProcessOptions{.name = "B then A"}, take_both, b, a, both_have_one);
  one.start();
  other.start();
  one.join(Deadline::never());
  other.join(Deadline::never());
}

}  // namespace

int main(int argc, char** argv) {
  mp::init(argc, argv);
  a_killed_owner();
  opposite_orders();
}
