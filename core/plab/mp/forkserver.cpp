// SPDX-License-Identifier: Apache-2.0
// The start method forkserver. A fresh process, started by spawn, runs serve(): it has one thread
// and forks on request. The client keeps one end of a socket to it; requests are answered in turn.
// What a parent would get from wait(2) comes through a pipe of each child, which is its sentinel.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <utility>

#include "plab/base/early.h"
#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/mp/child.h"
#include "plab/mp/children.h"
#include "plab/mp/connection.h"
#include "plab/mp/exec.h"
#include "plab/mp/letter.h"
#include "plab/mp/process_state.h"
#include "plab/mp/starter.h"
#include "plab/os/memfd.h"
#include "plab/os/pipe.h"
#include "plab/os/poll.h"
#include "plab/os/socket.h"

namespace plab::mp {

namespace {

enum class Ask : std::uint32_t { kStart = 1, kKill = 2 };

/// With kStart come the letter, the report, the write end of the status pipe, and connections.
struct Request {
  Ask ask = Ask::kStart;
  std::int32_t pid = 0;
  std::int32_t signal = 0;
  std::uint32_t zero = 0;
};
struct Reply {
  std::int32_t pid = 0;   ///< of the new child; 0: none could be made
  std::int32_t code = 0;  ///< the errno then
};
struct Status {
  std::int32_t code = 0;
  std::int32_t signal = 0;
};
constexpr std::size_t kOwnDescriptors = 3;

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span<T, 1>(&value, 1));
}

// --- the server -------------------------------------------------------------------------------

struct Served {
  os::Process process;
  os::UniqueFd status;
};

class Server {
 public:
  explicit Server(Connection control) : control_(std::move(control)) {}

  void run() {
    while (answer_one()) reap();
    for (auto& served : children_) served.process.kill(SIGKILL);
    for (auto& served : children_) (void)served.process.wait(Deadline::never());
  }

 private:
  /// Waits for a request or the end of a child. False: the client is gone.
  bool answer_one() {
    std::vector<int> watched{control_.descriptor()};
    for (const auto& served : children_) watched.push_back(served.process.pidfd());
    const auto ready = os::wait_any(watched, Deadline::never());
    if (!ready || *ready != 0) return true;
    Request request;
    auto received = os::recv_message(control_.descriptor(), bytes_of(request), os::kMaxDescriptors,
                                     Deadline::never());
    if (!received || received->bytes != sizeof request) return false;
    const Reply reply = request.ask == Ask::kStart ? start(received->descriptors)
                                                   : kill(request.pid, request.signal);
    os::write_full(control_.descriptor(), std::as_bytes(std::span(&reply, 1)), Deadline::never());
    return true;
  }

  Reply start(std::vector<os::UniqueFd>& descriptors) {
    if (descriptors.size() < kOwnDescriptors) return {0, EINVAL};
    const Parent parent = this_parent();
    try {
      auto process = os::fork_process();
      if (!process) be_child(descriptors, parent);
      const Reply reply{process->pid(), 0};
      children_.push_back({std::move(*process), std::move(descriptors[2])});
      return reply;
    } catch (const Error& problem) {
      log::error("[mp.forkserver] {}", problem.what());
      return {0, EAGAIN};
    }
  }

  [[noreturn]] void be_child(std::vector<os::UniqueFd>& descriptors, const Parent& parent) {
    static_cast<void>(std::signal(SIGINT, SIG_DFL));
    after_fork_in_child();
    control_.close();
    children_.clear();  // the other status pipes, above all: their ends must be the server's alone
    descriptors[2].reset();
    std::vector<int> connections;
    for (std::size_t i = kOwnDescriptors; i < descriptors.size(); ++i) {
      connections.push_back(descriptors[i].release());
    }
    obey_letter(std::move(descriptors[0]), std::move(descriptors[1]), parent, connections);
  }

  Reply kill(std::int32_t pid, std::int32_t signal) {
    for (auto& served : children_) {
      if (served.process.pid() == pid) served.process.kill(signal);
    }
    return {pid, 0};
  }

  void reap() {
    std::erase_if(children_, [](Served& served) {
      const auto exit = served.process.try_wait();
      if (!exit) return false;
      const Status status{exit->code, exit->signal};
      try {
        os::write_full(served.status.get(), std::as_bytes(std::span(&status, 1)),
                       Deadline::never());
      } catch (const PeerDied&) {  // the client let go of this child: nobody asks any more
        return true;
      }
      return true;
    });
  }

  Connection control_;
  std::vector<Served> children_;
};

void serve(Connection control) {
  // Ctrl-C in a terminal reaches every process of the group. What it means is for the client to
  // decide; it would miss its server while it ends its processes in good order.
  static_cast<void>(std::signal(SIGINT, SIG_IGN));
  Server(std::move(control)).run();
}

// --- the client -------------------------------------------------------------------------------

class Client {
 public:
  /// @param parents that of the process that forked this one: kept, as a leak has no owner
  explicit Client(Client* parents) noexcept : parents_(parents) {}
  ~Client() { stop(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void ensure() {
    const std::scoped_lock lock(mutex_);
    ensure_locked();
  }

  Reply ask(const Request& request, std::span<const int> descriptors) {
    const std::scoped_lock lock(mutex_);
    if (request.ask == Ask::kStart) ensure_locked();
    if (!control_) return {};
    Reply reply;
    if (!exchange(request, descriptors, reply)) {
      const auto end = server_->wait(Deadline::after(kGentle));
      throw PeerDied(fmt::format("[mp.forkserver] the server (pid {}) {}; start again",
                                 server_->pid(), end ? end->text() : "does not answer any more"));
    }
    return reply;
  }

  void stop() noexcept {
    const std::scoped_lock lock(mutex_);
    control_.reset();
    if (!server_) return;
    // The end of its socket ends it; a fork of this process may hold a copy of that, though.
    try {
      if (!server_->wait(Deadline::after(kGentle))) end_child(*server_, Deadline::passed());
    } catch (const std::exception& problem) {
      log::error("[mp.forkserver] {}", problem.what());
    }
    server_.reset();
  }

  /// In a forked child: the server is the parent's.
  void forget() noexcept {
    control_.reset();
    (void)server_.release();
  }

 private:
  // False when the server is gone.
  bool exchange(const Request& request, std::span<const int> descriptors, Reply& reply) {
    try {
      (void)os::send_message(control_.get(), std::as_bytes(std::span(&request, 1)), descriptors,
                             Deadline::never());
      return os::read_full(control_.get(), bytes_of(reply), Deadline::never()) == sizeof reply;
    } catch (const PeerDied&) {
      return false;
    } catch (const SystemError& problem) {
      if (problem.code() == ECONNRESET) return false;
      throw;
    }
  }

  void ensure_locked() {
    if (server_ && !server_->wait(Deadline::passed())) return;
    require_init("forkserver");
    finish_at_exit();
    auto sockets = os::create_socket_pair();
    auto job = make_job<void (*)(Connection), Connection>(
        &serve, std::tuple<Connection>(Connection(std::move(sockets.second))));
    // Its report goes nowhere: what goes wrong in the server is in the log.
    const os::UniqueFd report = os::create_memfd("plab-report", Bytes{0});
    server_ = exec_starter().start(*job, ChildInfo{"forkserver", false, true}, report);
    control_ = std::move(sockets.first);
  }

  [[maybe_unused]] Client* parents_;
  std::mutex mutex_;
  os::UniqueFd control_;           // protected by mutex_
  std::unique_ptr<Child> server_;  // protected by mutex_
};

// Never freed and replaced in a forked child, as the list of daemons in children.cpp.
Client*& client() {
  static auto* one = new Client(nullptr);  // NOLINT(cppcoreguidelines-owning-memory)
  return one;
}
const Early g_early_forkserver([] { (void)client(); });

class ServedChild final : public Child {
 public:
  ServedChild(int pid, os::UniqueFd status) : pid_(pid), pipe_(std::move(status)) {}
  [[nodiscard]] int pid() const noexcept override { return pid_; }
  [[nodiscard]] int sentinel() const noexcept override { return pipe_.get(); }
  [[nodiscard]] std::optional<os::ExitStatus> wait(Deadline deadline) override {
    if (ended_) return ended_;
    if (!os::wait_ready(pipe_.get(), os::Ready::kReadable, deadline)) return std::nullopt;
    Status status;
    if (os::read_full(pipe_.get(), bytes_of(status), Deadline::never()) != sizeof status) {
      log::warning("[mp.forkserver] the server died, and with it process {}", pid_);
      status = {0, SIGKILL};
    }
    ended_ = os::ExitStatus{.code = status.code, .signal = status.signal};
    return ended_;
  }
  void kill(int signal) override {
    if (wait(Deadline::passed())) return;
    (void)client()->ask({.ask = Ask::kKill, .pid = pid_, .signal = signal}, {});
  }

 private:
  int pid_;
  os::UniqueFd pipe_;
  std::optional<os::ExitStatus> ended_;
};

class ForkServerStarter final : public Starter {
 public:
  void prepare() override { client()->ensure(); }
  [[nodiscard]] std::unique_ptr<Child> start(Job& job, const ChildInfo& info,
                                             const os::UniqueFd& report) override {
    Letter letter(job, info);
    os::Pipe status = os::create_pipe();
    std::vector<int> descriptors{letter.descriptor(), report.get(), status.write.get()};
    for (const int number : letter.connections()) descriptors.push_back(number);
    const Reply reply = client()->ask({.ask = Ask::kStart}, descriptors);
    if (reply.pid <= 0) {
      throw ResourceError(
          fmt::format("[mp.forkserver] no process could be made: {}", errno_text(reply.code)));
    }
    return child_with_letter(std::make_unique<ServedChild>(reply.pid, std::move(status.read)),
                             std::move(letter));
  }
};

}  // namespace

void stop_forkserver() noexcept { client()->stop(); }

void forget_forkserver() noexcept {
  client()->forget();
  client() = new Client(client());  // NOLINT(cppcoreguidelines-owning-memory)
}

Starter& forkserver_starter() {
  static constinit ForkServerStarter starter;  // without a guard, which a fork could copy locked
  return starter;
}

}  // namespace plab::mp
