// SPDX-License-Identifier: Apache-2.0
// mutex.h, condition.h, semaphore.h, event.h, barrier.h, parking.h
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "plab/base/error.h"
#include "plab/shm/barrier.h"
#include "plab/shm/condition.h"
#include "plab/shm/event.h"
#include "plab/shm/mutex.h"
#include "plab/shm/semaphore.h"
#include "plab/shm/shared.h"
#include "support/gate.h"
#include "support/leak_audit.h"

using namespace plab;
using namespace std::chrono_literals;
using shm::LockResult;
using shm::Shared;

namespace {

int forever() {
  for (;;) ::pause();
}

void kill_and_reap(os::Process& child) {
  child.kill(SIGKILL);
  (void)child.wait(test::patience());
}

}  // namespace

// --- mutex
// ----------------------------------------------------------------------------------------

TEST_CASE("increments under the lock are not lost, by threads and by processes", "[shm][fork]") {
  struct State {
    shm::Mutex mutex;
    long count = 0;
  };
  const auto state = Shared<State>::create();
  const auto work = [&] {
    for (int i = 0; i < 20'000; ++i) {
      if (!state->mutex.lock(test::patience()).acquired()) return 1;
      ++state->count;
      state->mutex.unlock();
    }
    return 0;
  };
  auto one = test::run_child(work);
  auto two = test::run_child(work);
  CHECK(work() == 0);
  CHECK(test::end_of(one) == "exited with code 0");
  CHECK(test::end_of(two) == "exited with code 0");
  CHECK(state->count == 60'000);
}

TEST_CASE("threads exclude each other", "[shm][threads]") {
  shm::Mutex mutex;
  long count = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5000; ++i) {
          (void)mutex.lock(Deadline::never());
          ++count;
          mutex.unlock();
        }
      });
    }
  }
  CHECK(count == 20'000);
}

TEST_CASE("the death of the owner is told to the next one, with its pid", "[shm][fork]") {
  const auto mutex = Shared<shm::Mutex>::create();
  test::Gate locked;
  auto owner = test::run_child([&] {
    (void)mutex->lock(test::patience());
    locked.open();
    return forever();
  });
  REQUIRE(locked.pass());
  CHECK(mutex->owner().pid == owner.pid());
  CHECK_FALSE(mutex->try_lock().acquired());
  CHECK(mutex->lock(Deadline::after(2ms)).kind == LockResult::Kind::kTimedOut);
  CHECK(mutex->lock(Deadline::passed()).kind == LockResult::Kind::kTimedOut);
  kill_and_reap(owner);
  const auto result = mutex->lock(test::patience());
  CHECK(result.owner_died());
  CHECK(result.dead_pid == owner.pid());
  mutex->unlock();
  CHECK(mutex->lock(test::patience()).kind == LockResult::Kind::kAcquired);
  mutex->unlock();
}

TEST_CASE("a waiter that sleeps is woken by the death of the owner", "[shm][fork]") {
  const auto mutex = Shared<shm::Mutex>::create();
  test::Gate locked;
  test::Gate go;
  auto owner = test::run_child([&] {
    (void)mutex->lock(test::patience());
    locked.open();
    return go.pass() ? 0 : 1;  // ends with the lock
  });
  REQUIRE(locked.pass());
  auto waiter = test::run_child([&] {
    go.open();
    return mutex->lock(test::patience()).owner_died() ? 0 : 1;
  });
  CHECK(test::end_of(owner) == "exited with code 0");
  CHECK(test::end_of(waiter) == "exited with code 0");
}

TEST_CASE("only the holder unlocks, and it cannot lock twice", "[shm][fork]") {
  const auto mutex = Shared<shm::Mutex>::create();
  CHECK_THROWS_AS(mutex->unlock(), ContractError);
  {
    const shm::LockGuard guard(*mutex, test::patience());
    CHECK_THROWS_AS((void)mutex->lock(test::patience()), ContractError);
    CHECK_FALSE(mutex->try_lock().acquired());
    bool refused = false;
    std::thread([&] {
      try {
        mutex->unlock();
      } catch (const ContractError&) {
        refused = true;
      }
    }).join();
    CHECK(refused);
    CHECK(test::end_of_child([&] {  // a lock of the forking thread stays the parent's
            try {
              mutex->unlock();
            } catch (const ContractError&) {
              return mutex->try_lock().acquired() ? 1 : 0;
            }
            return 2;
          }) == "exited with code 0");
    CHECK(mutex->owner().pid == ::getpid());
  }
  CHECK(mutex->owner().pid == 0);
}

TEST_CASE("a guard that cannot have the lock throws and names the holder", "[shm]") {
  shm::Mutex mutex;
  (void)mutex.lock(Deadline::never());
  std::string text;
  std::thread([&] {
    try {
      const shm::LockGuard guard(mutex, Deadline::after(1ms));
    } catch (const TimeoutError& problem) {
      text = problem.what();
    }
  }).join();
  CHECK(text.find(std::to_string(::getpid())) != std::string::npos);
  mutex.unlock();
}

// --- condition
// ------------------------------------------------------------------------------------

namespace {
struct Slot {
  shm::Mutex mutex;
  shm::Condition changed;
  int value = 0;
};
}  // namespace

TEST_CASE("a condition hands values over between processes, none lost", "[shm][fork]") {
  const auto slot = Shared<Slot>::create();
  auto consumer = test::run_child([&] {
    for (int expected = 1; expected <= 3000; ++expected) {
      const shm::LockGuard guard(slot->mutex, test::patience());
      if (!slot->changed.wait_for(slot->mutex, test::patience(),
                                  [&] { return slot->value != 0; })) {
        return 1;
      }
      if (slot->value != expected) return 2;
      slot->value = 0;
      slot->changed.notify_one();
    }
    return 0;
  });
  int sent = 0;
  for (int i = 1; i <= 3000; ++i) {
    const shm::LockGuard guard(slot->mutex, test::patience());
    if (!slot->changed.wait_for(slot->mutex, test::patience(), [&] { return slot->value == 0; })) {
      break;
    }
    slot->value = i;
    ++sent;
    slot->changed.notify_one();
  }
  CHECK(sent == 3000);
  CHECK(test::end_of(consumer) == "exited with code 0");
}

TEST_CASE("killed waiters leave a condition usable", "[shm][fork]") {
  const auto slot = Shared<Slot>::create();
  for (int i = 0; i < 3; ++i) {
    test::Gate waits;
    auto waiter = test::run_child([&] {
      (void)slot->mutex.lock(test::patience());
      waits.open();
      (void)slot->changed.wait(slot->mutex, Deadline::never());
      return forever();
    });
    REQUIRE(waits.pass());
    (void)slot->mutex.lock(test::patience());  // it waits now: it has let the mutex go
    slot->mutex.unlock();
    kill_and_reap(waiter);
  }
  auto waiter = test::run_child([&] {
    const shm::LockGuard guard(slot->mutex, test::patience());
    return slot->changed.wait_for(slot->mutex, test::patience(), [&] { return slot->value == 5; })
               ? 0
               : 1;
  });
  {
    const shm::LockGuard guard(slot->mutex, test::patience());
    slot->value = 5;
    slot->changed.notify_all();
  }
  CHECK(test::end_of(waiter) == "exited with code 0");
  const shm::LockGuard guard(slot->mutex, test::patience());
  CHECK_FALSE(slot->changed.wait(slot->mutex, Deadline::after(1ms)).notified);
}

TEST_CASE("waiting on a condition needs its mutex", "[shm]") {
  Slot slot;
  CHECK_THROWS_AS((void)slot.changed.wait(slot.mutex, Deadline::passed()), ContractError);
}

TEST_CASE("a waiter hears that an owner of the mutex died meanwhile", "[shm][fork]") {
  const auto slot = Shared<Slot>::create();
  (void)slot->mutex.lock(test::patience());
  auto killer = test::run_child([&] {
    (void)slot->mutex.lock(test::patience());
    slot->changed.notify_all();
    return 3;  // ends with the mutex
  });
  const auto result = slot->changed.wait(slot->mutex, test::patience());
  CHECK(result.notified);
  CHECK(result.lock.owner_died());
  CHECK(result.lock.dead_pid == killer.pid());
  slot->mutex.unlock();
  CHECK(test::end_of(killer) == "exited with code 3");
}

// --- semaphore, event
// -----------------------------------------------------------------------------

TEST_CASE("a semaphore lets as many in as it has permits", "[shm][fork]") {
  struct State {
    State() : permits(2) {}
    shm::Semaphore permits;
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
  };
  const auto state = Shared<State>::create();
  const auto work = [&] {
    for (int i = 0; i < 2000; ++i) {
      if (!state->permits.wait(test::patience())) return 1;
      const int now = ++state->inside;
      int most = state->most;
      while (now > most && !state->most.compare_exchange_weak(most, now)) {
      }
      --state->inside;
      state->permits.post();
    }
    return 0;
  };
  std::vector<os::Process> children;
  for (int i = 0; i < 4; ++i) children.push_back(test::run_child(work));
  for (auto& child : children) CHECK(test::end_of(child) == "exited with code 0");
  CHECK(state->most <= 2);
  CHECK(state->permits.value() == 2);
}

TEST_CASE("a semaphore without permits times out; a bounded one refuses too many", "[shm]") {
  shm::Semaphore semaphore(1, 2);
  CHECK(semaphore.try_wait());
  CHECK_FALSE(semaphore.try_wait());
  CHECK_FALSE(semaphore.wait(Deadline::after(1ms)));
  CHECK_FALSE(semaphore.wait(Deadline::passed()));
  CHECK_THROWS_AS(semaphore.post(3), ContractError);
  CHECK(semaphore.value() == 0);
  semaphore.post(2);
  CHECK_THROWS_AS(semaphore.post(), ContractError);
  CHECK_THROWS_AS(shm::Semaphore(3, 2), ContractError);
  CHECK_THROWS_AS(shm::Semaphore(0, 0), ContractError);
}

TEST_CASE("a permit is not lost when the waiter that was woken is killed", "[shm][fork]") {
  const auto semaphore = Shared<shm::Semaphore>::create(0U);
  for (int round = 0; round < 10; ++round) {
    const test::SharedByFork<std::atomic<int>> got(0);
    const auto wait = [&] {
      if (!semaphore->wait(test::patience())) return 1;
      got->fetch_add(1);
      return 0;
    };
    auto victim = test::run_child(wait);
    auto other = test::run_child(wait);
    semaphore->post();
    victim.kill(SIGKILL);
    (void)victim.wait(test::patience());
    // Either the victim took it, or it is there for the other.
    if (got->load() == 0 && semaphore->value() == 0) semaphore->post();
    if (got->load() == 1 && other.try_wait() == std::nullopt) semaphore->post();
    CHECK(test::end_of(other) == "exited with code 0");
    while (semaphore->try_wait()) {
    }
  }
}

TEST_CASE("an event wakes all who wait and lets later ones through", "[shm][fork]") {
  const auto event = Shared<shm::Event>::create();
  CHECK_FALSE(event->wait(Deadline::after(1ms)));
  const auto wait = [&] { return event->wait(test::patience()) ? 0 : 1; };
  auto one = test::run_child(wait);
  auto two = test::run_child(wait);
  event->set();
  CHECK(test::end_of(one) == "exited with code 0");
  CHECK(test::end_of(two) == "exited with code 0");
  CHECK(event->wait(Deadline::passed()));
  event->clear();
  CHECK_FALSE(event->is_set());
}

TEST_CASE("threads pass a token through events without a race", "[shm][threads]") {
  shm::Event ping;
  shm::Event pong;
  int token = 0;
  std::jthread other([&] {
    for (int i = 0; i < 2000; ++i) {
      (void)ping.wait(Deadline::never());
      ping.clear();
      ++token;
      pong.set();
    }
  });
  for (int i = 0; i < 2000; ++i) {
    ping.set();
    (void)pong.wait(Deadline::never());
    pong.clear();
    ++token;
  }
  other.join();
  CHECK(token == 4000);
}

// --- barrier
// --------------------------------------------------------------------------------------

using Kind = shm::Barrier::Result::Kind;

TEST_CASE("nobody passes a barrier before the last has come, phase after phase", "[shm][fork]") {
  struct State {
    State() : barrier(3) {}
    shm::Barrier barrier;
    std::atomic<int> arrived{0};
  };
  const auto state = Shared<State>::create();
  const auto work = [&] {
    for (int phase = 1; phase <= 300; ++phase) {
      ++state->arrived;
      if (!state->barrier.wait(test::patience()).passed()) return 1;
      if (state->arrived < 3 * phase) return 2;
      if (!state->barrier.wait(test::patience()).passed()) return 3;
    }
    state->barrier.leave();
    return 0;
  };
  auto one = test::run_child(work);
  auto two = test::run_child(work);
  CHECK(work() == 0);
  CHECK(test::end_of(one) == "exited with code 0");
  CHECK(test::end_of(two) == "exited with code 0");
  CHECK_FALSE(state->barrier.is_broken());
}

TEST_CASE("a barrier of threads passes and numbers them", "[shm][threads]") {
  shm::Barrier barrier(4);
  std::atomic<unsigned> numbers{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          const auto result = barrier.wait(Deadline::never());
          if (i == 0) numbers |= 1U << result.index;
        }
      });
    }
  }
  CHECK(numbers == 15U);
}

TEST_CASE("a participant that dies breaks the barrier for all, with its pid", "[shm][fork]") {
  const auto barrier = Shared<shm::Barrier>::create(3U);
  const auto first = [&] { return barrier->wait(test::patience()).passed() ? 0 : 1; };
  test::Gate passed;
  auto victim = test::run_child([&] {
    if (first() != 0) return 1;
    passed.open();
    return forever();
  });
  auto other = test::run_child([&] {
    if (first() != 0) return 1;
    const auto result = barrier->wait(test::patience());
    return result.kind == Kind::kBroken && result.dead_pid == victim.pid() ? 0 : 2;
  });
  CHECK(first() == 0);
  REQUIRE(passed.pass());
  kill_and_reap(victim);
  const auto result = barrier->wait(test::patience());
  CHECK(result.kind == Kind::kBroken);
  CHECK(result.dead_pid == victim.pid());
  CHECK(test::end_of(other) == "exited with code 0");
  CHECK(barrier->is_broken());
  CHECK(barrier->wait(test::patience()).kind == Kind::kBroken);
  barrier->reset();
  CHECK_FALSE(barrier->is_broken());
}

TEST_CASE("one that was enrolled and died before it came breaks the barrier", "[shm][fork]") {
  const auto barrier = Shared<shm::Barrier>::create(2U);
  auto child = test::run_child(&forever);
  barrier->enroll(child.identity());
  kill_and_reap(child);
  CHECK(barrier->wait(test::patience()).dead_pid == child.pid());
}

TEST_CASE("a deadline at a barrier breaks it for the others", "[shm][fork]") {
  const auto barrier = Shared<shm::Barrier>::create(3U);
  auto other = test::run_child([&] {
    const auto result = barrier->wait(test::patience());
    return result.kind == Kind::kBroken && result.dead_pid == 0 ? 0 : 1;
  });
  while (barrier->waiting() == 0) std::this_thread::yield();
  CHECK(barrier->wait(Deadline::after(1ms)).kind == Kind::kTimedOut);
  CHECK(test::end_of(other) == "exited with code 0");
}

TEST_CASE("abort and reset send the waiters away broken", "[shm]") {
  shm::Barrier barrier(2);
  for (const bool reset : {false, true}) {
    Kind kind = Kind::kPassed;
    std::thread waiter([&] { kind = barrier.wait(Deadline::never()).kind; });
    while (barrier.waiting() == 0) std::this_thread::yield();
    reset ? barrier.reset() : barrier.abort();
    waiter.join();
    CHECK(kind == Kind::kBroken);
    CHECK(barrier.is_broken() == !reset);
    barrier.reset();
  }
  CHECK_THROWS_AS(shm::Barrier(0), ContractError);
  shm::Barrier alone(1);
  CHECK(alone.wait(Deadline::passed()).passed());
}
