// SPDX-License-Identifier: Apache-2.0
#include "bench/peers.h"

#include <cblas.h>
#include <linux/futex.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "bench/cores.h"
#include "plab/base/deadline.h"
#include "plab/base/error.h"

extern "C" void openblas_set_num_threads(int);
extern char** environ;

namespace plab::bench {

namespace {

namespace ipc = boost::interprocess;

double seconds_since(std::int64_t start) {
  return static_cast<double>(monotonic_ns() - start) * 1e-9;
}

void reap(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

// Two numbers on cache lines of their own, shared with a forked child.
struct Court {
  alignas(64) std::atomic<int> there{0};
  alignas(64) std::atomic<int> back{0};
};

class SharedCourt {
 public:
  SharedCourt()
      : memory_(mmap(nullptr, sizeof(Court), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)) {
    if (memory_ == MAP_FAILED) throw SystemError("[bench.peers] mmap of 128 bytes", errno);
    court_ = new (memory_) Court;
  }
  ~SharedCourt() { munmap(memory_, sizeof(Court)); }
  SharedCourt(const SharedCourt&) = delete;
  SharedCourt& operator=(const SharedCourt&) = delete;
  Court* operator->() { return court_; }

 private:
  void* memory_;
  Court* court_;
};

void futex_wait_for(std::atomic<int>& word, int wanted) {
  for (int seen = word.load(); seen != wanted; seen = word.load()) {
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }
}

void futex_set(std::atomic<int>& word, int value) {
  word.store(value);
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void spin_for(std::atomic<int>& word, int wanted) {
  while (word.load(std::memory_order_acquire) != wanted) __builtin_ia32_pause();
}

void spin_set(std::atomic<int>& word, int value) { word.store(value, std::memory_order_release); }

// On two cores, as the queue that it is compared with: on one core a futex costs a seventh.
template <void (*kWait)(std::atomic<int>&, int), void (*kSet)(std::atomic<int>&, int)>
double round_trip_us(int rounds) {
  const CorePin pin(0);
  SharedCourt court;
  const pid_t child = fork();
  if (child < 0) throw SystemError("[bench.peers] fork", errno);
  if (child == 0) {
    run_on_core(1);
    for (int i = 1; i <= rounds; ++i) {
      kWait(court->there, i);
      kSet(court->back, i);
    }
    _exit(0);
  }
  const auto start = monotonic_ns();
  for (int i = 1; i <= rounds; ++i) {
    kSet(court->there, i);
    kWait(court->back, i);
  }
  const double us = seconds_since(start) / rounds * 1e6;
  reap(child);
  return us;
}

}  // namespace

double futex_round_trip_us(int rounds) { return round_trip_us<futex_wait_for, futex_set>(rounds); }

double spin_round_trip_us(int rounds) { return round_trip_us<spin_for, spin_set>(rounds); }

double boost_messages_per_s(int messages) {
  const std::string name = fmt::format("plab_bench_{}", getpid());
  ipc::message_queue::remove(name.c_str());
  ipc::message_queue queue(ipc::create_only, name.c_str(), 64, 64);
  ipc::message_queue::remove(name.c_str());  // both sides have it mapped: nothing can stay behind
  char buffer[64] = {};
  const CorePin pin(0);
  const pid_t child = fork();
  if (child < 0) throw SystemError("[bench.peers] fork", errno);
  if (child == 0) {
    run_on_core(1);
    ipc::message_queue::size_type size = 0;
    unsigned priority = 0;
    for (int i = 0; i < messages; ++i) queue.receive(buffer, sizeof buffer, size, priority);
    _exit(0);
  }
  const auto start = monotonic_ns();
  for (int i = 0; i < messages; ++i) {
    std::memcpy(buffer, &i, sizeof i);
    queue.send(buffer, sizeof buffer, 0);
  }
  reap(child);
  return messages / seconds_since(start);
}

double memcpy_gb_per_s(std::size_t total, std::size_t piece, std::size_t slots) {
  const std::vector<char> source(total, 1);
  std::vector<std::vector<char>> buffers(slots, std::vector<char>(piece, 2));
  const auto start = monotonic_ns();
  std::size_t slot = 0;
  for (std::size_t at = 0; at + piece <= total; at += piece) {
    std::memcpy(buffers[slot].data(), source.data() + at, piece);
    asm volatile("" : : "r"(buffers[slot].data()) : "memory");
    slot = (slot + 1) % slots;
  }
  return static_cast<double>(total / piece * piece) / seconds_since(start) / 1e9;
}

double posix_spawn_two_us() {
  char self[] = "/proc/self/exe";
  std::string flag = kReturnAtOnce;
  char* arguments[] = {self, flag.data(), nullptr};
  const auto start = monotonic_ns();
  pid_t children[2] = {};
  for (auto& child : children) {
    const int code = posix_spawn(&child, self, nullptr, nullptr, arguments, environ);
    if (code != 0) throw SystemError("[bench.peers] posix_spawn of this binary", code);
  }
  for (const auto child : children) reap(child);
  return seconds_since(start) * 1e6;
}

double bare_steps_per_s(int steps) {
  openblas_set_num_threads(1);
  constexpr int kB = 32;
  constexpr int kI = 64;
  constexpr int kH = 128;
  constexpr int kO = 10;
  std::vector<float> x(kB * kI, .1F);
  std::vector<float> w1(kH * kI, .01F);
  std::vector<float> h(kB * kH);
  std::vector<float> w2(kO * kH, .01F);
  std::vector<float> y(kB * kO);
  std::vector<float> dh(kB * kH);
  std::vector<float> dw1(kH * kI);
  std::vector<float> dw2(kO * kH);
  const auto start = monotonic_ns();
  for (int k = 0; k < steps; ++k) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kB, kH, kI, 1, x.data(), kI, w1.data(), kI,
                0, h.data(), kH);
    for (auto& v : h) v = v > 0 ? v : 0;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kB, kO, kH, 1, h.data(), kH, w2.data(), kH,
                0, y.data(), kO);
    for (auto& v : y) v = std::exp(v) * .01F;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kB, kH, kO, 1, y.data(), kO, w2.data(),
                kH, 0, dh.data(), kH);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, kO, kH, kB, 1, y.data(), kO, h.data(), kH,
                0, dw2.data(), kH);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, kH, kI, kB, 1, dh.data(), kH, x.data(), kI,
                0, dw1.data(), kI);
    for (std::size_t i = 0; i < w1.size(); ++i) w1[i] -= 1e-6F * dw1[i];
    for (std::size_t i = 0; i < w2.size(); ++i) w2[i] -= 1e-6F * dw2[i];
  }
  return steps / seconds_since(start);
}

}  // namespace plab::bench
