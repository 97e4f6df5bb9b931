// SPDX-License-Identifier: Apache-2.0
#include "plab/os/signals.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "plab/base/log.h"
#include "plab/os/syscall.h"

namespace plab::os {

std::string signal_name(int number) {
  if (const char* name = ::sigabbrev_np(number)) return std::string("SIG") + name;
  if (number >= SIGRTMIN && number <= SIGRTMAX)
    return fmt::format("SIGRTMIN+{}", number - SIGRTMIN);
  return fmt::format("signal {}", number);
}

SignalBlock::SignalBlock(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) {
    if (sigaddset(&set, number) != 0) {
      throw ContractError(fmt::format("[os.signals] there is no signal {}", number));
    }
  }
  pthread_sigmask(SIG_BLOCK, &set, &old_);
}

SignalBlock::~SignalBlock() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }

namespace {

// Written by the one InterruptFlag of the process, read by the handler.
std::atomic<int> g_owner{0};
std::atomic<int> g_event{-1};
std::atomic<int> g_raised{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

extern "C" void on_interrupt(int number) {
  const int saved = errno;
  int none = 0;
  if (g_owner.load() == ::getpid() && g_raised.compare_exchange_strong(none, number)) {
    const std::uint64_t one = 1;
    (void)!::write(g_event.load(), &one, sizeof(one));
  } else {
    // a forked child, or the second one: as by default
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    ::sigaction(number, &plain, nullptr);
    ::raise(number);
  }
  errno = saved;
}

}  // namespace

InterruptFlag::InterruptFlag(std::source_location where)
    : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), owner_(::getpid()) {
  if (!event_) fail("[os.signals] eventfd", where);
  // An owner that is not this process is the parent that this one was forked from.
  if (g_owner.load() == owner_) {
    throw ContractError("[os.signals] this process has an InterruptFlag already; pass that on",
                        where);
  }
  g_owner = owner_;
  g_raised = 0;
  g_event = event_.get();
  struct sigaction action {};
  action.sa_handler = &on_interrupt;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &old_int_);
  ::sigaction(SIGTERM, &action, &old_term_);
}

InterruptFlag::~InterruptFlag() {
  if (owner_ != ::getpid()) return;
  ::sigaction(SIGINT, &old_int_, nullptr);
  ::sigaction(SIGTERM, &old_term_, nullptr);
  g_owner = 0;
  g_event = -1;
}

std::optional<int> InterruptFlag::raised() const noexcept {
  const int number = g_owner.load() == owner_ ? g_raised.load() : 0;
  return number == 0 ? std::nullopt : std::optional(number);
}

int InterruptFlag::fd() const noexcept { return event_.get(); }

void InterruptFlag::clear() noexcept {
  std::uint64_t count = 0;
  (void)!::read(event_.get(), &count, sizeof(count));
  g_raised = 0;
}

}  // namespace plab::os
