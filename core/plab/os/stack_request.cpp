// SPDX-License-Identifier: Apache-2.0
#include "plab/os/stack_request.h"

#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>

#include <array>
#include <charconv>
#include <cstring>
#include <sstream>
#include <thread>

#include "plab/base/error.h"
#include "plab/os/file.h"

namespace plab::os {

namespace {

constexpr int kMaxFrames = 64;
// The handler itself and the return from a signal.
constexpr int kOurs = 2;
constexpr const char* kEnd = "end\n";
constexpr const char* kStack = "stack.";
constexpr const char* kFault = "fault.";

// Fixed before the handler is there.
std::array<char, 3072> g_prefix{};

int request_signal() noexcept { return SIGRTMAX - 4; }

/// For a signal handler: no heap, no locale.
class Line {
 public:
  void add(const char* text) noexcept {
    while (*text != '\0' && used_ + 1 < bytes_.size()) bytes_[used_++] = *text++;
    bytes_[used_] = '\0';
  }
  void add(std::uint64_t number, int base) noexcept {
    const auto end =
        std::to_chars(bytes_.data() + used_, bytes_.data() + bytes_.size() - 1, number, base);
    used_ = static_cast<std::size_t>(end.ptr - bytes_.data());
    bytes_[used_] = '\0';
  }
  [[nodiscard]] const char* text() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }

 private:
  std::array<char, 3200> bytes_{};
  std::size_t used_ = 0;
};

void put(int fd, const char* text, std::size_t size) noexcept { (void)!::write(fd, text, size); }

/// PREFIX + kind + "PID.TID", opened.
int open_own(const char* kind, int number) noexcept {
  Line name;
  name.add(g_prefix.data());
  name.add(kind);
  if (number != 0) {
    name.add(static_cast<std::uint64_t>(number), 10);
    name.add(".");
  }
  name.add(static_cast<std::uint64_t>(::getpid()), 10);
  name.add(".");
  name.add(static_cast<std::uint64_t>(::syscall(SYS_gettid)), 10);
  return ::open(name.text(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

// First the addresses, then the same with their names: the second needs a lock of the dynamic
// linker, so it may never come.
[[gnu::always_inline]] inline void put_stack(int fd) noexcept {
  std::array<void*, kMaxFrames> frames{};
  const int count = ::backtrace(frames.data(), kMaxFrames);
  Line addresses;
  for (int i = kOurs; i < count; ++i) {
    addresses.add(reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]), 16);
    addresses.add("\n");
  }
  addresses.add(kEnd);
  put(fd, addresses.text(), addresses.size());
  if (count > kOurs) ::backtrace_symbols_fd(frames.data() + kOurs, count - kOurs, fd);
  put(fd, kEnd, std::strlen(kEnd));
}

extern "C" void on_request(int /*number*/) {
  const int saved = errno;
  const int fd = open_own(kStack, 0);
  if (fd >= 0) {
    put_stack(fd);
    ::close(fd);
  }
  errno = saved;
}

// The process will be gone when somebody reads it, so its modules are told too.
extern "C" void on_fault(int number) {
  const int fd = open_own(kFault, number);
  if (fd >= 0) {
    put_stack(fd);
    const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    std::array<char, 4096> piece;
    for (ssize_t got = 0; maps >= 0 && (got = ::read(maps, piece.data(), piece.size())) > 0;) {
      put(fd, piece.data(), static_cast<std::size_t>(got));
    }
    ::close(maps);
    ::close(fd);
  }
  ::raise(number);  // comes when this handler returns, and then acts by default (SA_RESETHAND)
}

/// Whether the process has a handler for the signal.
bool answers(pid_t pid) {
  std::istringstream lines(read_file(fmt::format("/proc/{}/status", pid)));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    const std::uint64_t caught = std::stoull(line.substr(7), nullptr, 16);
    return ((caught >> static_cast<unsigned>(request_signal() - 1)) & 1U) != 0;
  }
  return false;
}

struct Module {
  std::uint64_t from = 0, to = 0, offset = 0;
  std::string file;
};

std::vector<Module> modules_in(const std::string& maps) {
  std::vector<Module> all;
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    Module module;
    char rights[5] = "";
    // NOLINTNEXTLINE(cert-err34-c): the kernel wrote these numbers
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx", &module.from, &module.to, rights,
                    &module.offset) != 4) {
      continue;
    }
    const auto path = line.find('/');
    if (path == std::string::npos || rights[2] != 'x') continue;
    module.file = line.substr(path);
    all.push_back(module);
  }
  return all;
}

/// "module(symbol+0x12) [0x55...]": the symbol.
std::string symbol_of(const std::string& line) {
  const auto from = line.rfind('(');
  const auto plus = line.find('+', from == std::string::npos ? line.size() : from);
  return plus == std::string::npos ? "" : line.substr(from + 1, plus - from - 1);
}

std::vector<StackAddress> calls_of(const std::string& answer, const std::vector<Module>& modules) {
  std::vector<StackAddress> calls;
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line) && line + "\n" != kEnd;) {
    StackAddress call;
    call.address = std::stoull(line, nullptr, 16);
    if (!calls.empty()) --call.address;  // of all but the innermost it is where they return to
    for (const Module& module : modules) {
      if (call.address < module.from || call.address >= module.to) continue;
      call.module = module.file;
      call.offset = call.address - module.from + module.offset;
    }
    calls.push_back(std::move(call));
  }
  std::size_t index = 0;
  for (std::string line; std::getline(lines, line) && index < calls.size(); ++index) {
    if (line + "\n" != kEnd) calls[index].symbol = symbol_of(line);
  }
  return calls;
}

std::string answer_in(const std::filesystem::path& file) {
  try {
    return read_file(file);
  } catch (const SystemError&) {
    return {};  // not yet
  }
}

bool is_whole(const std::string& answer) {
  const auto first = answer.find(kEnd);
  return first != std::string::npos && answer.find(kEnd, first + 1) != std::string::npos;
}

}  // namespace

void answer_stack_requests(const std::filesystem::path& folder) {
  const std::string prefix = std::filesystem::absolute(folder).string() + "/";
  if (prefix.size() + 64 > g_prefix.size()) return;
  prefix.copy(g_prefix.data(), prefix.size());
  g_prefix[prefix.size()] = '\0';
  std::array<void*, 1> frame{};
  (void)::backtrace(frame.data(), 1);  // the first one loads the unwinder, which a handler may not
  struct sigaction action {};
  action.sa_handler = &on_request;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  ::sigaction(request_signal(), &action, nullptr);
  action.sa_handler = &on_fault;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction now {};
    ::sigaction(fault, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) {
      ::sigaction(fault, &action, nullptr);
    }
  }
}

std::vector<StackAnswer> ask_for_stacks(pid_t pid, const std::filesystem::path& folder,
                                        Deadline deadline) try {
  std::vector<StackAnswer> all;
  for (const std::string& tid : list_folder(fmt::format("/proc/{}/task", pid), "")) {
    all.push_back({.signal = 0, .pid = pid, .tid = std::stoi(tid), .calls = {}});
  }
  if (!answers(pid)) return all;
  const std::vector<Module> modules = modules_in(read_file(fmt::format("/proc/{}/maps", pid)));
  for (const StackAnswer& thread : all) {
    ::syscall(SYS_tgkill, pid, thread.tid, request_signal());
  }
  for (StackAnswer& thread : all) {
    const std::filesystem::path file = folder / fmt::format("{}{}.{}", kStack, pid, thread.tid);
    std::string answer;
    while (!is_whole(answer = answer_in(file)) && !deadline.expired()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (answer.find(kEnd) != std::string::npos) thread.calls = calls_of(answer, modules);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
  return all;
} catch (const SystemError&) {
  return {};  // it is gone
}

std::vector<StackAnswer> read_faults(const std::filesystem::path& folder) {
  std::vector<StackAnswer> all;
  for (const std::string& name : list_folder(folder, kFault)) {
    StackAnswer fault;
    // NOLINTNEXTLINE(cert-err34-c): another name than ours gives other numbers, and no stack
    if (std::sscanf(name.c_str() + std::strlen(kFault), "%d.%d.%d", &fault.signal, &fault.pid,
                    &fault.tid) != 3) {
      continue;
    }
    const std::string text = answer_in(folder / name);
    if (!is_whole(text)) continue;  // it was ended while it wrote
    const auto maps = text.find(kEnd, text.find(kEnd) + 1) + std::strlen(kEnd);
    fault.calls = calls_of(text.substr(0, maps), modules_in(text.substr(maps)));
    all.push_back(std::move(fault));
  }
  return all;
}

}  // namespace plab::os
