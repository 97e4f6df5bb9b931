// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/barrier.h"

#include <chrono>

#include "plab/base/error.h"

namespace plab::shm {

namespace {
constexpr auto kLookForDead = std::chrono::milliseconds(50);
constexpr std::uint64_t bit(std::uint32_t phase) { return std::uint64_t{1} << (phase % 64); }
}  // namespace

Barrier::Barrier(std::uint32_t parties) : parties_(parties) {
  if (parties == 0) throw ContractError("[shm.barrier] 0 parties; a barrier has at least 1");
}

// Held for a few instructions only, so without deadline. An owner that died may have left the count
// wrong: the barrier is broken then.
void Barrier::lock() {
  const LockResult result = mutex_.lock(Deadline::never());
  if (result.owner_died()) break_locked(result.dead_pid);
}

void Barrier::add_locked(os::ProcessIdentity who) {
  std::atomic<std::uint64_t>* free = nullptr;
  for (auto& entry : processes_) {
    const std::uint64_t word = entry.load();
    if (word == who.packed()) return;
    if (word == 0 && free == nullptr) free = &entry;
  }
  if (free == nullptr) {
    mutex_.unlock();
    throw ResourceError(
        fmt::format("[shm.barrier] {} processes take part already, the most that a "
                    "barrier can watch; let some leave()",
                    kMostProcesses));
  }
  free->store(who.packed());
}

void Barrier::break_locked(std::int32_t dead_pid) noexcept {
  if (broken_.load() == 0) dead_pid_.store(dead_pid);
  failed_.fetch_or(bit(phase_.load()));
  arrived_.store(0);
  broken_.store(1);
  parking_.wake_all();
}

std::int32_t Barrier::find_dead() const noexcept {
  for (const auto& entry : processes_) {
    const std::uint64_t word = entry.load();
    if (word == 0) continue;
    const auto who = os::ProcessIdentity::from_packed(word);
    if (!os::is_alive(who)) return who.pid;
  }
  return 0;
}

bool Barrier::over(std::uint32_t phase) const noexcept {
  return phase_.load() != phase || (failed_.load() & bit(phase)) != 0;
}

Barrier::Result Barrier::verdict(std::uint32_t phase, std::uint32_t index) const noexcept {
  if ((failed_.load() & bit(phase)) == 0) return {Result::Kind::kPassed, index, 0};
  return {Result::Kind::kBroken, 0, dead_pid_.load()};
}

Barrier::Result Barrier::wait(Deadline deadline, std::source_location where) {
  lock();
  if (is_broken()) {
    mutex_.unlock();
    return {Result::Kind::kBroken, 0, dead_pid_.load()};
  }
  add_locked(os::self_identity());
  const std::uint32_t phase = phase_.load();
  const std::uint32_t index = arrived_.fetch_add(1);
  if (index + 1 == parties_) {
    arrived_.store(0);
    failed_.fetch_and(~bit(phase + 1));
    phase_.store(phase + 1);
    mutex_.unlock();
    parking_.wake_all();
    return {Result::Kind::kPassed, index, 0};
  }
  mutex_.unlock();
  Deadline next_look = Deadline::after(kLookForDead);
  std::int32_t dead = 0;
  const bool done = await(parking_, {WaitKind::kBarrier, this, where}, deadline, [&] {
    if (over(phase)) return true;
    if (!next_look.expired()) return false;
    next_look = Deadline::after(kLookForDead);
    dead = find_dead();
    return dead != 0;
  });
  if (!over(phase)) {
    lock();
    const bool mine = !over(phase);  // nobody was quicker
    if (mine) break_locked(dead);
    mutex_.unlock();
    if (mine && !done) return {Result::Kind::kTimedOut, 0, 0};
  }
  return verdict(phase, index);
}

void Barrier::abort(std::int32_t dead_pid) {
  lock();
  break_locked(dead_pid);
  mutex_.unlock();
}

void Barrier::reset() {
  lock();
  const std::uint32_t phase = phase_.load();
  failed_.fetch_or(bit(phase));
  failed_.fetch_and(~bit(phase + 1));
  for (auto& entry : processes_) entry.store(0);
  dead_pid_.store(0);
  arrived_.store(0);
  phase_.store(phase + 1);
  broken_.store(0);
  mutex_.unlock();
  parking_.wake_all();
}

void Barrier::enroll(os::ProcessIdentity who) {
  lock();
  add_locked(who);
  mutex_.unlock();
}

void Barrier::leave() {
  lock();
  const std::uint64_t self = os::self_identity().packed();
  for (auto& entry : processes_) {
    if (entry.load() == self) entry.store(0);
  }
  mutex_.unlock();
}

}  // namespace plab::shm
