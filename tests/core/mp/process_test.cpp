// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/process.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "plab/mp/connection.h"
#include "plab/mp/context.h"
#include "plab/mp/queue.h"
#include "plab/mp/simple_queue.h"
#include "plab/mp/sync.h"
#include "plab/os/pipe.h"
#include "plab/os/proc.h"
#include "plab/os/process.h"
#include "plab/os/signals.h"
#include "plab/tensor/ops.h"

using namespace plab;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using mp::StartMethod;

namespace {

const Deadline kNever = Deadline::never();
#define EACH_START_METHOD \
  GENERATE(StartMethod::kFork, StartMethod::kSpawn, StartMethod::kForkServer)

mp::ProcessOptions by(StartMethod method, mp::Daemon daemon = mp::Daemon::kNo) {
  return {.daemon = daemon, .start_method = method, .print_errors = mp::PrintErrors::kNo};
}

struct Config {
  int depth = 0;
  std::vector<std::vector<std::string>> names;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(depth, names);
  }
};

void leave(int code) { mp::exit_process(code); }
void leave_by_exit(int code) { std::exit(code); }
void raise_signal(int number) { std::raise(number); }
void sleep_for_ever() { (void)mp::Event().wait(Deadline::never()); }
void tell_and_sleep(mp::Event started) {
  started.set();
  sleep_for_ever();
}
void check_arguments(int number, const std::string& text, Config config, Tensor tensor,
                     std::map<int, double> table) {
  const bool same = number == -3 && text == "literal" && config.depth == 2 &&
                    config.names[1][0] == "b" && tensor.sizes() == Shape{2, 3} &&
                    tensor.at<float>({1, 2}) == 4 && table.at(7) == 0.25;
  leave(same ? 11 : 12);
}
void check_tensor(const Tensor& tensor, Tensor& answer) {
  answer.fill_(sum(tensor).item<double>());
}
void use_everything(mp::Queue<int> queue, mp::SimpleQueue<std::string>& simple, mp::Lock lock,
                    mp::Event event, mp::Barrier barrier, mp::Connection connection) {
  const mp::Guard guard(lock, Deadline::never());
  if (!event.wait(Deadline::never())) leave(1);
  queue.put(5, Deadline::never());
  simple.put("six", Deadline::never());
  connection.send(7, Deadline::never());
  if (!barrier.wait(Deadline::never()).passed()) leave(2);
}
void throw_nested() {
  try {
    throw std::out_of_range("the inner one");
  } catch (...) {
    std::throw_with_nested(ContractError("the outer one"));
  }
}
void throw_long(std::size_t bytes) { throw std::runtime_error(std::string(bytes, 'e')); }
void throw_number() { throw 42; }
void start_another() {
  mp::Process child(by(StartMethod::kFork), leave, 0);
  child.start();
}
void tell_state(mp::Connection out) {
  out.send(std::tuple(mp::current_process_name(), mp::current_process_is_daemon(), mp::in_child()),
           kNever);
}
void wait_and_leave(mp::Event event) {
  (void)event.wait(kNever);
  leave(21);
}
/// Holds `alive` open until it dies; tells its pid first.
void hold(mp::Connection alive) {
  alive.send(static_cast<int>(os::self_identity().pid), kNever);
  sleep_for_ever();
}
void start_holder_and_wait(mp::Connection alive, StartMethod method) {
  mp::Process child(by(method), hold, std::move(alive));
  child.start();
  child.join(kNever);
}
int exit_code_of(mp::Process& process) {
  process.start();
  REQUIRE(process.join(kNever));
  return process.exitcode().value();
}

}  // namespace

TEST_CASE("a process has the exit code that its function left with", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  mp::Process good(by(method), [] {});
  CHECK_FALSE(good.exitcode().has_value());
  CHECK(exit_code_of(good) == 0);
  mp::Process seven(by(method), leave, 7);
  CHECK(exit_code_of(seven) == 7);
  mp::Process eight(by(method), leave_by_exit, 8);
  CHECK(exit_code_of(eight) == 8);
  CHECK(seven.signal_name().empty());
  CHECK_FALSE(seven.error().has_value());
  CHECK(seven.join(Deadline::passed()));  // again
}

TEST_CASE("a process that a signal ended says which", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  const int signal = GENERATE(SIGKILL, SIGTERM, SIGUSR1);
  CAPTURE(mp::name_of(method), signal);
  mp::Process process(by(method), raise_signal, signal);
  CHECK(exit_code_of(process) == -signal);
  CHECK(process.signal_name() == os::signal_name(signal));
}

TEST_CASE("typed arguments arrive, also string literals and nested containers", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  mp::Process process(by(method), check_arguments, -3, "literal", Config{2, {{"a"}, {"b", "c"}}},
                      Tensor::full({2, 3}, 4), std::map<int, double>{{7, 0.25}});
  CHECK(exit_code_of(process) == 11);
}

TEST_CASE("a tensor argument is the parent's memory, by reference too", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  const Tensor data = Tensor::arange(10, DType::kF32);
  const Tensor answer = Tensor::zeros({1});
  answer.share_memory();
  mp::Process process(by(method), check_tensor, data, answer);
  CHECK(exit_code_of(process) == 0);
  CHECK(answer.item<float>() == 45);
  CHECK(data.is_shared() == (method != StartMethod::kFork));
}

TEST_CASE("by fork a tensor that is not shared is the child's own (RED-10)", "[mp][process]") {
  const Tensor data = Tensor::zeros({4});
  mp::Process process(mp::kForkOnly, [&] { data.fill_(9); });
  CHECK(exit_code_of(process) == 0);
  CHECK_FALSE(data.is_shared());
  CHECK(data.to_vector<float>() == std::vector<float>(4, 0.0F));
}

TEST_CASE("queues, locks, events, barriers and connections are arguments", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  mp::Queue<int> queue;
  mp::SimpleQueue<std::string> simple;
  mp::Lock lock;
  mp::Event event;
  mp::Barrier barrier(2);
  auto [here, there] = mp::Pipe();
  mp::Process process(by(method), use_everything, queue, simple, lock, event, barrier,
                      std::move(there));
  process.start();
  event.set();
  CHECK(queue.get(kNever) == 5);
  CHECK(simple.get(kNever) == "six");
  CHECK(here.recv<int>(kNever) == 7);
  CHECK(lock.owner().pid == process.pid());
  CHECK(barrier.wait(kNever).passed());
  CHECK(process.join(kNever));
  CHECK(process.exitcode() == 0);
  CHECK_THROWS_AS(here.recv<int>(kNever), mp::EndOfFile);
}

TEST_CASE("an exception comes back with type, message, causes and stack", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  mp::Process process(by(method), throw_nested);
  CHECK(exit_code_of(process) == 1);
  const auto error = process.error();
  REQUIRE(error.has_value());
  CHECK(error->type() == "plab::ContractError");
  CHECK(error->message() == "the outer one");
  REQUIRE(error->layers.size() == 2);
  CHECK(error->layers[1].type == "std::out_of_range");
  CHECK(error->layers[1].message == "the inner one");
  CHECK_THAT(error->text(), ContainsSubstring("caused by std::out_of_range"));
  CHECK_FALSE(error->stack.empty());
}

TEST_CASE("what is no std::exception is an error too", "[mp][process]") {
  mp::Process process(by(EACH_START_METHOD), throw_number);
  CHECK(exit_code_of(process) == 1);
  CHECK(process.error().value().type() == "int");
}

TEST_CASE("an error of a megabyte arrives whole", "[mp][process]") {
  mp::Process process(by(EACH_START_METHOD), throw_long, std::size_t{1} << 20U);
  CHECK(exit_code_of(process) == 1);
  CHECK(process.error().value().message() == std::string(std::size_t{1} << 20U, 'e'));
}

TEST_CASE("join with a deadline says that the process still runs", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  mp::Process process(by(method), sleep_for_ever);
  process.start();
  CHECK(process.is_alive());
  CHECK_FALSE(process.join(Deadline::after(5ms)));
  CHECK_FALSE(process.exitcode().has_value());
  CHECK_THROWS_AS(process.close(), ContractError);
  process.terminate();
  CHECK(os::wait_ready(process.sentinel(), os::Ready::kReadable, kNever));
  CHECK(process.join(kNever));
  CHECK(process.exitcode() == -SIGTERM);
  CHECK_FALSE(process.is_alive());
  process.close();
  CHECK(process.exitcode() == -SIGTERM);
  CHECK_THROWS_AS(process.sentinel(), ContractError);
}

TEST_CASE("a process that goes while it runs is ended and reaped", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  os::ProcessIdentity who;
  {
    mp::Event started;
    mp::Process process(by(method, mp::Daemon::kYes), tell_and_sleep, started);
    process.start();
    CHECK(started.wait(kNever));
    who = {process.pid(), os::start_time(process.pid()).value()};
  }
  CHECK_FALSE(os::is_alive(who));
}

TEST_CASE("a child knows its name and whether it is a daemon", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  auto [here, there] = mp::Pipe(mp::Duplex::kNo);
  auto options = by(method, mp::Daemon::kYes);
  options.name = "the worker";
  mp::Process process(options, tell_state, std::move(there));
  process.start();
  using State = std::tuple<std::string, bool, bool>;
  CHECK(here.recv<State>(kNever) == State("the worker", true, true));
  CHECK(process.join(kNever));
  CHECK_FALSE(mp::in_child());
}

TEST_CASE("a daemon may not have children", "[mp][process]") {
  const auto method = EACH_START_METHOD;
  mp::Process process(by(method, mp::Daemon::kYes), start_another);
  CHECK(exit_code_of(process) == 1);
  CHECK_THAT(process.error().value().message(),
             ContainsSubstring("daemonic processes are not allowed to have children"));
}

TEST_CASE("children die with a killed parent, at any depth", "[mp][process][kill]") {
  const auto outer = EACH_START_METHOD;
  const auto inner = EACH_START_METHOD;
  CAPTURE(mp::name_of(outer), mp::name_of(inner));
  auto [here, there] = mp::Pipe();
  mp::Process process(by(outer), start_holder_and_wait, std::move(there), inner);
  process.start();
  CHECK(here.recv<int>(kNever).value() > 0);  // the grandchild runs
  process.kill();
  CHECK(process.join(kNever));
  // The other end is closed when the grandchild is gone, and not before.
  CHECK_THROWS_AS(here.recv<int>(kNever), mp::EndOfFile);
}

TEST_CASE("a process outlives the thread that started it, and dies with its parent still",
          "[mp][process][kill]") {
  const auto method = EACH_START_METHOD;
  CAPTURE(mp::name_of(method));
  mp::Event event;
  mp::Process process(by(method), wait_and_leave, event);
  std::thread([&] { process.start(); }).join();
  CHECK_FALSE(process.join(Deadline::after(20ms)));
  event.set();
  CHECK(process.join(kNever));
  CHECK(process.exitcode() == 21);

  auto [here, there] = mp::Pipe();
  mp::Process parent(mp::kForkOnly, [&, &line = there] {
    here.close();
    mp::Process child(by(method), hold, std::move(line));
    std::thread([&] { child.start(); }).join();
    child.join(kNever);
  });
  parent.start();
  there.close();
  CHECK(here.recv<int>(kNever).value() > 0);
  parent.kill();
  CHECK(parent.join(kNever));
  CHECK_THROWS_AS(here.recv<int>(kNever), mp::EndOfFile);
}

TEST_CASE("wrong order of calls is refused with a reason", "[mp][process]") {
  mp::Process process([] {});
  CHECK_THROWS_WITH(process.join(kNever), ContainsSubstring("was not started"));
  CHECK_THROWS_AS(process.sentinel(), ContractError);
  process.start();
  CHECK_THROWS_WITH(process.start(), ContainsSubstring("was started before"));
  CHECK(process.join(kNever));
  mp::Process captures(mp::kForkOnly, [] {});
  CHECK(exit_code_of(captures) == 0);
}

TEST_CASE("the start method is set once", "[mp][context]") {
  CHECK(mp::get_start_method() == StartMethod::kFork);
  mp::Process process(mp::kForkOnly, [] {
    mp::set_start_method(StartMethod::kSpawn);
    try {
      mp::set_start_method(StartMethod::kFork);
    } catch (const ContractError&) {
      mp::set_start_method(StartMethod::kFork, mp::Force::kYes);
      mp::exit_process(mp::get_start_method() == StartMethod::kFork ? 3 : 4);
    }
  });
  CHECK(exit_code_of(process) == 3);
  CHECK(mp::parse_start_method("forkserver") == StartMethod::kForkServer);
  CHECK_THROWS_WITH(mp::parse_start_method("thread"), ContainsSubstring("fork, spawn or"));
}

TEST_CASE("no descriptor is left after processes of each kind", "[mp][process][leak]") {
  const auto run = [](StartMethod method) {
    auto [here, there] = mp::Pipe();
    mp::Process process(by(method), tell_state, std::move(there));
    process.start();
    (void)here.recv<std::tuple<std::string, bool, bool>>(kNever);
    process.join(kNever);
  };
  for (const auto method : {StartMethod::kFork, StartMethod::kSpawn, StartMethod::kForkServer}) {
    run(method);
  }
  mp::stop_forkserver();
  const auto before = os::open_descriptors().size();
  for (const auto method : {StartMethod::kFork, StartMethod::kSpawn, StartMethod::kForkServer}) {
    run(method);
    run(method);
  }
  mp::stop_forkserver();
  CHECK(os::open_descriptors().size() == before);
  CHECK(os::child_pids().empty());
}
