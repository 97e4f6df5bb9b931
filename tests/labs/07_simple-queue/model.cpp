// SPDX-License-Identifier: Apache-2.0
#include "tests/labs/07_simple-queue/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

namespace lab07 {

namespace {

constexpr std::size_t kKeptSteps = 20;
/// Operations in a row that bring nothing about. Two looks and a flag are a handful.
constexpr std::uint32_t kMostInVain = 400;

}  // namespace

Model*& Model::current() {
  thread_local Model* model = nullptr;
  return model;
}

Model::Outcome Model::run(const std::vector<Body>& bodies) {
  std::vector<std::exception_ptr> thrown(bodies.size());
  for (const Body& one : bodies) {
    threads_.push_back(std::make_unique<Thread>());
    threads_.back()->name = one.name;
    threads_.back()->clock[threads_.size() - 1] = 1;
  }
  std::vector<std::jthread> running;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    running.emplace_back([this, i, &bodies, &thrown] {
      threads_[i]->go.acquire();
      current() = this;
      try {
        if (!stop_) bodies[i].run();
      } catch (const Stop&) {  // given up: what was found says why
      } catch (...) {
        thrown[i] = std::current_exception();
        stop_ = true;
      }
      let_out(*threads_[i]);
      threads_[i]->state = Thread::kFinished;
      go_on();
    });
  }
  running_ = random_() % bodies.size();
  threads_[running_]->go.release();
  over_.acquire();
  running.clear();
  for (const auto& problem : thrown) {
    if (problem) std::rethrow_exception(problem);
  }
  outcome_.permits = gates_[&ring_.data].permits + gates_[&ring_.room].permits;
  outcome_.steps = fmt::format("{}", fmt::join(log_, "\n"));
  return outcome_;
}

/// Before an operation: perhaps another thread is next.
void Model::point() {
  if (stop_) throw Stop{};
  if (++since_progress_ > kMostInVain) {
    find("L07-SPINS", fmt::format("{} made {} operations in a row that brought nothing about: it "
                                  "does not sleep",
                                  me().name, kMostInVain));
  }
  if (random_() % 4 == 0) {
    Thread& one = *threads_[random_() % threads_.size()];
    if (!one.buffer.empty()) {
      const Store* const upto = &one.buffer.front();
      let_out_up_to(one, [&](const Store& store) { return &store == upto; });
    }
  }
  const std::size_t next = random_() % threads_.size();
  if (next != running_ && threads_[next]->state == Thread::kReady && random_() % 2 == 0) {
    pass_on(next);
  }
}

void Model::pass_on(std::size_t next) {
  Thread& self = me();
  running_ = next;
  threads_[next]->go.release();
  self.go.acquire();
  if (stop_) throw Stop{};
}

/// The running thread cannot go on: another one can, or the run is over.
void Model::go_on() {
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const auto state = threads_[i]->state;
    if (state == Thread::kReady || (stop_ && state == Thread::kBlocked)) ready.push_back(i);
  }
  if (ready.empty() && !stop_) {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i]->state == Thread::kBlocked) ready.push_back(i);
    }
    outcome_.stuck = !ready.empty();
    stop_ = outcome_.stuck;
  }
  if (ready.empty()) {
    over_.release();
    return;
  }
  running_ = ready[random_() % ready.size()];
  threads_[running_]->go.release();
}

void Model::block(const void* on) {
  Thread& self = me();
  self.state = Thread::kBlocked;
  self.blocked_on = on;
  go_on();
  self.go.acquire();
  if (stop_) throw Stop{};
}

void Model::unblock(const void* on) {
  for (const auto& thread : threads_) {
    if (thread->state == Thread::kBlocked && thread->blocked_on == on) {
      thread->state = Thread::kReady;
    }
  }
}

void Model::let_out_up_to(Thread& thread, const std::function<bool(const Store&)>& last) {
  const auto end = std::find_if(thread.buffer.rbegin(), thread.buffer.rend(), last).base();
  for (auto store = thread.buffer.begin(); store != end; ++store) {
    store->word->value_.store(store->value);
    words_[store->word] = store->clock;
    log_.push_back(fmt::format("  (now all see {} = {})", name_of(store->word), store->value));
  }
  thread.buffer.erase(thread.buffer.begin(), end);
}

void Model::let_out(Thread& thread) {
  let_out_up_to(thread, [](const Store&) { return true; });
}

void Model::release_into(Clock& clock) {
  Clock& own = me().clock;
  for (std::size_t i = 0; i < kMostThreads; ++i) clock[i] = std::max(clock[i], own[i]);
  ++own[running_];
}

void Model::acquire_from(const Clock& clock) {
  Clock& own = me().clock;
  for (std::size_t i = 0; i < kMostThreads; ++i) own[i] = std::max(own[i], clock[i]);
}

void Model::note(const std::string& what) {
  log_.push_back(me().name + ": " + what);
  while (log_.size() > kKeptSteps) log_.pop_front();
}

void Model::find(std::string code, std::string text) {
  outcome_.code = std::move(code);
  outcome_.text = std::move(text);
  stop_ = true;
  throw Stop{};
}

std::string Model::name_of(const void* object) const {
  if (object == &ring_.tail) return "tail";
  if (object == &ring_.head) return "head";
  if (object == &ring_.reader_asleep) return "reader_asleep";
  if (object == &ring_.writer_asleep) return "writer_asleep";
  if (object == &ring_.data) return "data";
  if (object == &ring_.room) return "room";
  return "another object";
}

}  // namespace lab07
