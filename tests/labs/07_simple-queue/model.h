#pragma once
// SPDX-License-Identifier: Apache-2.0
// A machine on which lab 07's queue is run step by step. Threads go on one at a time; before each
// operation on a Word, Slot, Semaphore or Lock the seed decides who is next. So every run can be
// repeated, and what happens once in a million on a real machine happens here in most runs.
//
// The memory is weaker than x86's. A store waits in its thread's buffer, first in, first out, until
// the seed, a read-modify-write that releases, or (for a store that is seq_cst) a seq_cst load of
// the same thread lets it out. Slots are plain memory: clocks tell, as ThreadSanitizer does,
// whether two accesses are ordered by what C++ guarantees, whatever came of them in this run. Not
// modelled: loads that are done early, and stores of one thread that overtake each other (the
// clocks see what comes of both for the slots).

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <semaphore>
#include <string>
#include <vector>

#include "07_simple-queue/lab.hpp"

namespace lab07 {

class Model {
 public:
  static constexpr std::size_t kMostThreads = 3;
  using Clock = std::array<std::uint32_t, kMostThreads>;

  struct Body {
    std::string name;
    std::function<void()> run;
  };
  /// How a run ended: well when `code` is empty and nobody is `stuck`.
  struct Outcome {
    std::string code;
    std::string text;
    bool stuck = false;         ///< all that have not finished wait, and nobody can wake them
    std::uint32_t permits = 0;  ///< left in semaphores at the end
    std::string steps;          ///< the last ones, oldest first
  };

  Model(Ring& ring, std::uint64_t seed) : ring_(ring), random_(seed) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Runs the bodies to their ends, or to the first thing that is wrong.
  /// @throws what a body throws
  Outcome run(const std::vector<Body>& bodies);
  /// That of the calling thread; null: the operations are real.
  [[nodiscard]] static Model*& current();

  std::uint64_t load(const Word& word, std::memory_order order);
  void store(Word& word, std::uint64_t value, std::memory_order order);
  std::uint64_t exchange(Word& word, std::uint64_t value, std::memory_order order);
  void write(Slot& slot);
  void read(const Slot& slot);
  void wait(Semaphore& semaphore);
  void post(Semaphore& semaphore);
  void lock(Lock& lock);
  void unlock(Lock& lock);

 private:
  struct Stop {};  // thrown in bodies that are given up
  struct Store {
    Word* word;
    std::uint64_t value;
    std::memory_order order;
    Clock clock;  // what it releases; zeros: nothing
  };
  struct Thread {
    std::string name;
    std::binary_semaphore go{0};
    enum State { kReady, kBlocked, kFinished } state = kReady;
    const void* blocked_on = nullptr;
    Clock clock{};
    std::deque<Store> buffer;
  };
  struct Access {
    std::size_t thread = 0;
    std::uint32_t time = 0;  // 0: never
  };
  struct SlotUse {
    Access written;
    Access read;
    bool full = false;
  };
  struct Gate {  // a semaphore or a lock
    std::uint32_t permits = 0;
    Clock clock{};
  };

  void point();
  void pass_on(std::size_t next);
  void go_on();
  void block(const void* on);
  void unblock(const void* on);
  void let_out(Thread& thread);
  void let_out_up_to(Thread& thread, const std::function<bool(const Store&)>& last);
  void progress() { since_progress_ = 0; }
  void note(const std::string& what);
  void find(std::string code, std::string text);
  void release_into(Clock& clock);
  void acquire_from(const Clock& clock);
  void take(Gate& gate, const void* key);
  [[nodiscard]] bool ordered(const Access& access) const;
  [[nodiscard]] Thread& me() { return *threads_[running_]; }
  [[nodiscard]] std::string name_of(const void* object) const;
  [[nodiscard]] std::size_t slot_index(const Slot& slot);

  Ring& ring_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::size_t running_ = 0;
  std::binary_semaphore over_{0};
  bool stop_ = false;
  std::uint32_t since_progress_ = 0;
  std::uint32_t unread_ = 0;
  std::deque<std::string> log_;
  std::map<const Word*, Clock> words_;
  std::map<const void*, Gate> gates_;
  std::array<SlotUse, Ring::kMostSlots> slots_{};
  Outcome outcome_;
};

}  // namespace lab07
