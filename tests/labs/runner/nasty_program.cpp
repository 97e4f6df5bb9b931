// SPDX-License-Identifier: Apache-2.0
// nasty_program HOW: does what a learner's program may do. Run by supervise_test under supervision.
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "plab/mp/init.h"
#include "plab/mp/simple_queue.h"

// A crash is to be a crash under AddressSanitizer too. (Only its runtime calls this.)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "handle_segv=0:handle_abort=0"; }

namespace {

std::atomic<bool> never{false};

// Each in a frame of its own, to be found in a stack.
[[gnu::noinline]] void spin_for_ever() {
  while (!never.load()) {
  }
}
[[gnu::noinline]] void sleep_for_ever() {
  while (!never.load()) pause();
}
[[gnu::noinline]] void wait_in_a_child() {
  while (!never.load()) pause();
}

void be_busy_and_asleep() {
  if (fork() == 0) wait_in_a_child();
  const std::jthread other(sleep_for_ever);
  spin_for_ever();
}

void fork_many() {
  for (int i = 0; i < 50; ++i) {
    if (fork() == 0) {
      setsid();  // out of the process group
      for (;;) pause();
    }
  }
}

void print_much() {
  const std::vector<char> block(std::size_t{1} << 20U, 'x');
  for (int i = 0; i < 1024; ++i) std::fwrite(block.data(), 1, block.size(), stdout);
}

[[gnu::noinline]] void fork_and_forget() {
  if (fork() == 0) wait_in_a_child();
}

void leave_semaphore() { sem_open("/nasty_program_semaphore", O_CREAT, 0600, 1); }

void leave_system_v(const std::string& what) {
  if (what == "system-v-memory") (void)shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (what == "system-v-semaphore") {
    const int id = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
    sembuf up{.sem_num = 1, .sem_op = 1, .sem_flg = 0};
    (void)semop(id, &up, 1);  // the kernel keeps the pid of who did it
  }
  if (what == "system-v-queue") {
    const int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    const struct {
      long type = 1;
      char text[4] = "abc";
    } message;
    (void)msgsnd(id, &message, sizeof(message.text), 0);
  }
}

void leave_socket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/nasty_socket",
                std::getenv("TMPDIR"));
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) std::abort();
}

void leave_temporary_file() {
  std::string name = std::string(std::getenv("TMPDIR")) + "/nasty-XXXXXX";
  if (mkstemp(name.data()) < 0) std::abort();
  std::puts(name.c_str());
  std::fflush(stdout);
  kill(getpid(), SIGKILL);
}

void leave_segment() {
  const int fd = shm_open("/nasty_program_left_this", O_CREAT | O_RDWR, 0600);
  if (fd >= 0 && ftruncate(fd, 4096) != 0) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "busy") spin_for_ever();
  if (how == "busy-and-asleep") be_busy_and_asleep();
  if (how == "sleep") pause();
  if (how == "print-slowly") {
    for (;;) {
      std::puts("on");
      std::fflush(stdout);
      usleep(10'000);
    }
  }
  if (how == "fork-50") fork_many();
  if (how == "segv") raise(SIGSEGV);
  if (how == "kill-parent") {
    kill(getppid(), SIGKILL);
    for (;;) pause();
  }
  if (how == "print-1-gb") print_much();
  if (how == "segment") leave_segment();
  if (how == "orphan") fork_and_forget();
  if (how == "semaphore") leave_semaphore();
  if (how == "socket") leave_socket();
  if (how == "temporary-file") leave_temporary_file();
  leave_system_v(how);
  if (how == "deadlock") {
    plab::mp::SimpleQueue<int> queue;
    (void)queue.get(plab::Deadline::never());
  }
  if (how == "exit-9") std::exit(9);
  std::puts("the end");
}
