// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/feeder.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <typeinfo>
#include <utility>
#include <vector>

#include "plab/base/early.h"
#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/base/timeline.h"
#include "plab/mp/process_state.h"
#include "plab/shm/reclaim.h"
#include "plab/shm/wait.h"

namespace plab::mp {

namespace {

/// The feeders whose thread was started. Never freed: the end of the process needs it after the
/// static objects are gone.
struct Feeders {
  std::mutex mutex;
  std::vector<std::shared_ptr<Feeder>> running;  // protected by mutex
};

Feeders& feeders() {
  static auto* list = new Feeders;  // NOLINT(cppcoreguidelines-owning-memory): see above
  return *list;
}

void before_fork() {
  feeders().mutex.lock();
  for (const auto& feeder : feeders().running) feeder->lock();
}

void after_fork_in_parent() {
  for (const auto& feeder : feeders().running) feeder->unlock();
  feeders().mutex.unlock();
}

void after_fork_in_child_of_feeders() {
  for (const auto& feeder : feeders().running) {
    feeder->reset_in_child();
    feeder->unlock();
  }
  feeders().running.clear();
  feeders().mutex.unlock();
}

// A feeder's lock is taken before the registry's, by its thread and so by the handlers: those that
// were registered last run first before a fork.
const Early g_early_feeder([] {
  (void)feeders();
  (void)shm::stats();  // makes the registry, if nobody has
  pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child_of_feeders);
});

void add_running(const std::shared_ptr<Feeder>& feeder) {
  finish_at_exit();
  std::vector<std::shared_ptr<Feeder>> done;  // go after the lock: that joins their threads
  const std::scoped_lock lock(feeders().mutex);
  auto& running = feeders().running;
  if (std::find(running.begin(), running.end(), feeder) != running.end()) return;
  const auto first_done = std::stable_partition(running.begin(), running.end(),
                                                [](const auto& one) { return !one->done(); });
  done.assign(std::make_move_iterator(first_done), std::make_move_iterator(running.end()));
  running.erase(first_done, running.end());
  running.push_back(feeder);
}

void remove_running(const Feeder* feeder) {
  const std::scoped_lock lock(feeders().mutex);
  std::erase_if(feeders().running, [&](const auto& one) { return one.get() == feeder; });
}

}  // namespace

Feeder::~Feeder() {
  // The last reference may be the thread's own (after cancel, or a queue whose handles are gone).
  if (thread_ && thread_->get_id() == std::this_thread::get_id()) thread_->detach();
}

void Feeder::append(QueueCore::Pack pack, const std::source_location& where) {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = thread_ == nullptr;
  }
  // The list of feeders first: its lock is taken before those of feeders, as the handlers do.
  if (first) start_thread();
  {
    const std::scoped_lock lock(mutex_);
    values_.push_back({std::move(pack), where});
  }
  changed_->notify_one();
}

void Feeder::start_thread() {
  add_running(shared_from_this());
  const std::scoped_lock lock(mutex_);
  if (thread_) return;  // another thread was faster
  thread_ = std::make_unique<std::jthread>([self = shared_from_this()] { self->work(); });
}

bool Feeder::next(Value& value) {
  std::unique_lock lock(mutex_);
  wait_for_work(lock);
  if (values_.empty()) return false;
  value = std::move(values_.front());
  values_.pop_front();
  return true;
}

void Feeder::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto ready = [this] { return !values_.empty() || closed_; };
  if (ready()) return;
  const shm::WaitSite site{shm::WaitKind::kIdle, this};
  shm::WaitScope scope(site, Deadline::never());
  if (!shm::WaitScope::watched()) return changed_->wait(lock, ready);
  for (;;) {
    scope.look();
    if (ready()) return;
    scope.looked();
    changed_->wait_for(lock, shm::kLookAgain);
  }
}

// A thread cannot be joined until a deadline: with a watcher its flag is asked for meanwhile.
void Feeder::wait_for_end() {
  const shm::WaitSite site{shm::WaitKind::kJoinThread, this};
  shm::WaitScope scope(site, Deadline::never());
  while (shm::WaitScope::watched()) {
    scope.look();
    if (done_.load()) return;
    scope.looked();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void Feeder::work() noexcept {
  timeline::name_thread("queue feeder");
  Value value;
  while (next(value)) {
    write(value);
    value.pack = nullptr;  // the value goes before the thread sleeps
  }
  done_.store(true);
}

void Feeder::write(const Value& value) noexcept {
  try {
    const shm::CallSite site(value.where);
    wire::Encoder out;
    const std::uint64_t type = value.pack(out);
    const auto message = out.finish(type);
    (void)ring_.write(message, Deadline::never());
    out.sent();
    ring_.slot_written();
    if (timeline::enabled()) {
      detail::record_message(timeline::Kind::kPut, ring_, ring_.written(), message.size());
    }
  } catch (const std::exception& problem) {
    lose(demangle(typeid(problem).name()) + ": " + problem.what());
  } catch (...) {
    lose("an exception that is no std::exception");
  }
}

void Feeder::lose(const std::string& problem) noexcept {
  log::error("[mp.queue] a value that was put could not be sent and is lost: {}", problem);
  ring_.return_slot();
  const std::scoped_lock lock(mutex_);
  ++errors_;
  last_error_ = problem;
}

void Feeder::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  changed_->notify_all();
}

void Feeder::join() {
  std::unique_ptr<std::jthread> thread;
  {
    const std::scoped_lock lock(mutex_);
    if (cancelled_) return;
    thread = std::move(thread_);
  }
  if (!thread) return;
  wait_for_end();
  if (thread->joinable()) thread->join();
  remove_running(this);
}

void Feeder::cancel() {
  const std::scoped_lock lock(mutex_);
  cancelled_ = true;
  if (thread_ && thread_->joinable()) thread_->detach();
}

bool Feeder::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

std::uint64_t Feeder::errors() const {
  const std::scoped_lock lock(mutex_);
  return errors_;
}

std::string Feeder::last_error() const {
  const std::scoped_lock lock(mutex_);
  return last_error_;
}

void Feeder::reset_in_child() {
  // Waiters of the parent are in the condition variable, and its thread in the handle: both are
  // left as they are and replaced. The values are copies of this process; they are dropped.
  (void)changed_.release();
  changed_ = std::make_unique<std::condition_variable>();
  (void)thread_.release();
  values_.clear();
  cancelled_ = false;
}

void join_feeders() noexcept {
  try {
    std::vector<std::shared_ptr<Feeder>> running;
    {
      const std::scoped_lock lock(feeders().mutex);
      running = feeders().running;
    }
    for (const auto& feeder : running) feeder->close();
    for (const auto& feeder : running) feeder->join();
  } catch (const std::exception& problem) {
    log::error("[mp.queue] the feeders could not be joined: {}", problem.what());
  }
}

}  // namespace plab::mp
