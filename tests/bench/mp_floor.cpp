// SPDX-License-Identifier: Apache-2.0
// What the queues and start methods of mp cost, each beside its floor in the same run: a bare
// spin or futex ping-pong, memcpy, a bare posix_spawn of this program. One line a figure.
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "plab/mp/init.h"
#include "plab/mp/process.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/spawn.h"
#include "plab/shm/wait.h"
#include "plab/tensor/tensor.h"

extern char** environ;

namespace {

using namespace plab;
const Deadline kNever = Deadline::never();
using Small = std::array<std::int64_t, 8>;  // 64 bytes

double now() { return static_cast<double>(monotonic_ns()) * 1e-9; }

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// --- floors -------------------------------------------------------------------------------------

struct Pair {
  alignas(64) std::atomic<std::uint32_t> a{0};
  alignas(64) std::atomic<std::uint32_t> b{0};
};

void await_value(std::atomic<std::uint32_t>& word, std::uint32_t value, bool asleep) {
  for (std::uint32_t seen = word.load(); seen != value; seen = word.load()) {
    if (asleep) {
      syscall(SYS_futex, &word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    } else {
      __builtin_ia32_pause();
    }
  }
}

void set_value(std::atomic<std::uint32_t>& word, std::uint32_t value, bool asleep) {
  word.store(value);
  if (asleep) syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

double bare_round_trip(bool asleep, int rounds) {
  void* memory =
      mmap(nullptr, sizeof(Pair), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Pair& pair = *new (memory) Pair;
  const auto count = static_cast<std::uint32_t>(rounds);
  const pid_t child = fork();
  if (child == 0) {
    pin(1);
    for (std::uint32_t i = 1; i <= count; ++i) {
      await_value(pair.a, i, asleep);
      set_value(pair.b, i, asleep);
    }
    _exit(0);
  }
  const double start = now();
  for (std::uint32_t i = 1; i <= count; ++i) {
    set_value(pair.a, i, asleep);
    await_value(pair.b, i, asleep);
  }
  const double seconds = now() - start;
  waitpid(child, nullptr, 0);
  munmap(memory, sizeof(Pair));
  return seconds / rounds * 1e6;
}

double bare_copy() {
  constexpr std::size_t kBytes = std::size_t{256} << 20U;
  std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes, 2);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double start = now();
    std::memcpy(to.data(), from.data(), kBytes);
    best = std::min(best, now() - start);
  }
  return kBytes / best * 1e-9;
}

double bare_spawns(const char* program, int rounds) {
  const double start = now();
  for (int i = 0; i < rounds; ++i) {
    pid_t pids[2];
    for (pid_t& pid : pids) {
      const char* const argv[] = {program, "--nothing", nullptr};
      posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, const_cast<char* const*>(argv),
                  environ);
    }
    for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  }
  return (now() - start) / rounds * 1e6;
}

// --- mp -----------------------------------------------------------------------------------------

template <typename T>
void echo(mp::SimpleQueue<T> in, mp::SimpleQueue<T> out, int rounds) {
  pin(1);
  for (int i = 0; i < rounds; ++i) out.put(in.get(kNever).value(), kNever);
}

template <typename T>
double round_trip(const T& value, int rounds) {
  mp::SimpleQueue<T> there;
  mp::SimpleQueue<T> back;
  mp::Process process({.start_method = mp::StartMethod::kFork}, echo<T>, there, back, rounds + 100);
  process.start();
  for (int i = 0; i < 100; ++i) {
    there.put(value, kNever);
    (void)back.get(kNever);
  }
  const double start = now();
  for (int i = 0; i < rounds; ++i) {
    there.put(value, kNever);
    (void)back.get(kNever);
  }
  const double seconds = now() - start;
  process.join(kNever);
  return seconds / rounds * 1e6;
}

void drain(mp::SimpleQueue<Small> in, int count) {
  pin(1);
  for (int i = 0; i < count; ++i) (void)in.get(kNever);
}

double small_stream(int count) {
  mp::SimpleQueue<Small> queue;
  mp::Process process({.start_method = mp::StartMethod::kFork}, drain, queue, count);
  process.start();
  Small value{};
  queue.put(value, kNever);
  const double start = now();
  for (int i = 1; i < count; ++i) queue.put(value, kNever);
  process.join(kNever);
  return count / (now() - start) * 1e-6;
}

/// Each buffer is filled by a copy, sent, and comes back to be used again.
void copy_out(mp::SimpleQueue<Tensor> in, mp::SimpleQueue<Tensor> back, int count) {
  pin(1);
  for (int i = 0; i < count; ++i) back.put(in.get(kNever).value(), kNever);
}

double large_stream(int count) {
  constexpr std::int64_t kFloats = std::int64_t{1} << 20U;  // 4 MiB
  const Tensor source = Tensor::ones({kFloats});
  mp::SimpleQueue<Tensor> there;
  mp::SimpleQueue<Tensor> back;
  std::vector<Tensor> buffers;
  for (int i = 0; i < 4; ++i) {
    buffers.push_back(Tensor::zeros({kFloats}));
    buffers.back().share_memory();
  }
  mp::Process process({.start_method = mp::StartMethod::kFork}, copy_out, there, back, count);
  process.start();
  const double start = now();
  for (int i = 0; i < count; ++i) {
    const Tensor buffer = i < 4 ? buffers[static_cast<std::size_t>(i)] : back.get(kNever).value();
    std::memcpy(buffer.data<float>(), source.data<float>(), kFloats * sizeof(float));
    there.put(buffer, kNever);
  }
  for (int i = 0; i < 4; ++i) (void)back.get(kNever);
  const double seconds = now() - start;
  process.join(kNever);
  return static_cast<double>(count) * kFloats * sizeof(float) / seconds * 1e-9;
}

void nothing(int /*rank*/) {}

double spawns(mp::StartMethod method, int rounds) {
  mp::spawn(nothing, std::tuple(), 2, {.start_method = method});
  const double start = now();
  for (int i = 0; i < rounds; ++i) mp::spawn(nothing, std::tuple(), 2, {.start_method = method});
  return (now() - start) / rounds * 1e6;
}

// What the registry adds to a wait that sleeps, when nobody looks (or with PLAB_WATCH=1, when
// somebody does).
double wait_scope_ns() {
  constexpr int kRounds = 1'000'000;
  const int object = 0;
  const shm::WaitSite site{shm::WaitKind::kOther, &object};
  const double start = now();
  for (int i = 0; i < kRounds; ++i) {
    shm::WaitScope scope(site, kNever);
    scope.look();
    scope.looked();
  }
  return (now() - start) / kRounds * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--nothing") == 0) return 0;
  mp::init(argc, argv);
  pin(0);
  Tensor tensor = Tensor::zeros({1024});
  tensor.share_memory();
  const int rounds = 50'000;
  std::printf("bare spin ping-pong          %8.3f us\n", bare_round_trip(false, rounds));
  std::printf("bare futex ping-pong         %8.3f us\n", bare_round_trip(true, rounds / 5));
  std::printf("SimpleQueue<int> rtt         %8.3f us\n", round_trip(7, rounds));
  std::printf("SimpleQueue<Tensor> rtt      %8.3f us\n", round_trip(tensor, rounds));
  std::printf("64 bytes, one way            %8.3f M/s\n", small_stream(2'000'000));
  std::printf("a wait's record              %8.1f ns\n", wait_scope_ns());
  const double copy = bare_copy();
  std::printf("memcpy                       %8.3f GB/s\n", copy);
  const double stream = large_stream(1000);
  std::printf("4 MiB tensors, one way       %8.3f GB/s  %.2f of memcpy\n", stream, stream / copy);
  sched_setaffinity(0, sizeof(cpu_set_t), [] {
    static cpu_set_t all;
    CPU_SET(0, &all);
    CPU_SET(1, &all);
    return &all;
  }());
  const double bare = bare_spawns(argv[0], 50);
  std::printf("bare posix_spawn of two      %8.0f us\n", bare);
  for (const auto method :
       {mp::StartMethod::kFork, mp::StartMethod::kSpawn, mp::StartMethod::kForkServer}) {
    const double mine = spawns(method, 50);
    std::printf("mp::spawn of two, %-10s %8.0f us  %.2f of bare\n", name_of(method).data(), mine,
                mine / bare);
  }
}
