#pragma once
// SPDX-License-Identifier: Apache-2.0
// A function with its arguments, on its way to another process. Process and spawn() make these.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plab/mp/archive.h"

namespace plab::mp {

namespace detail {

/// What is kept of an argument: a copy without reference; a string literal becomes a std::string.
template <typename T>
struct Stored {
  using type = std::decay_t<T>;
};
template <typename T>
requires(std::is_same_v<std::decay_t<T>, const char*> ||
         std::is_same_v<std::decay_t<T>, char*>) struct Stored<T> {
  using type = std::string;
};
template <typename T>
using stored_t = typename Stored<T>::type;

/// Calls with the arguments of a tuple that nobody needs afterwards: as rvalues where the function
/// takes them (values, const references), else as lvalues (`void f(Queue<int>&)`).
template <typename Fn, typename... Args>
decltype(auto) call_with(Fn& fn, std::tuple<Args...>& args) {
  if constexpr (std::is_invocable_v<Fn&, Args&&...>) {
    return std::apply(fn, std::move(args));
  } else {
    return std::apply(fn, args);
  }
}

template <typename Fn, typename... Args>
inline constexpr bool callable =
    std::is_invocable_v<Fn&, Args&&...> || std::is_invocable_v<Fn&, Args&...>;

template <typename Fn>
inline constexpr bool is_plain_function =
    std::is_pointer_v<Fn>&& std::is_function_v<std::remove_pointer_t<Fn>>;
/// A lambda without captures (or a function object without members).
template <typename Fn>
inline constexpr bool is_stateless = std::is_empty_v<Fn>&& std::is_default_constructible_v<Fn>;

/// Fails to compile with a sentence for each thing that may be wrong.
template <typename Fn, typename... Args>
constexpr void check_call() {
  static_assert(
      is_plain_function<Fn> || is_stateless<Fn>,
      "plab: this function cannot go to another process. Give a free function or a lambda "
      "without captures, and pass what it needs as arguments. (With mp::kForkOnly a "
      "lambda may capture, because a forked child has a copy of everything.)");
  static_assert(
      (Travels<Args> && ...),
      "plab: an argument cannot go to another process. See the concept plab::mp::Travels: "
      "raw pointers, references to locals, std::function and types without `serialize` "
      "(or without a default constructor) stay in their process.");
  static_assert(callable<Fn, Args...>,
                "plab: the function cannot be called with these arguments. (spawn() puts the rank, "
                "an int, before them.)");
}

}  // namespace detail

/// A function with its arguments; what a start method starts.
class Job {
 public:
  virtual ~Job() = default;
  /// Calls the function in this process, once.
  virtual void run() = 0;
  /// Where a fresh process begins: reads the arguments and calls the function. `function` is the
  /// value of function() there.
  using Entry = void (*)(std::span<const std::byte> message, std::span<const int> descriptors,
                         std::uintptr_t function);
  [[nodiscard]] virtual Entry entry() const = 0;
  /// The function, if it is one with an address; else 0.
  [[nodiscard]] virtual std::uintptr_t function() const = 0;
  /// Writes the arguments. @returns the type of what was written
  [[nodiscard]] virtual std::uint64_t pack(wire::Encoder& out) const = 0;
};

/// Runs only by fork: the function may capture and the arguments need not travel.
template <typename Fn, typename... Args>
class ForkJob : public Job {
 public:
  ForkJob(Fn fn, std::tuple<Args...> args) : fn_(std::move(fn)), args_(std::move(args)) {}
  void run() override { detail::call_with(fn_, args_); }
  [[nodiscard]] Entry entry() const override { return nullptr; }
  [[nodiscard]] std::uintptr_t function() const override { return 0; }
  [[nodiscard]] std::uint64_t pack(wire::Encoder& /*out*/) const override { return 0; }

 protected:
  Fn fn_;
  std::tuple<Args...> args_;
};

/// Runs by every start method.
template <typename Fn, typename... Args>
class TravelJob final : public ForkJob<Fn, Args...> {
 public:
  using ForkJob<Fn, Args...>::ForkJob;
  [[nodiscard]] Job::Entry entry() const override { return &TravelJob::enter; }
  [[nodiscard]] std::uintptr_t function() const override {
    if constexpr (detail::is_plain_function<Fn>) {
      return reinterpret_cast<std::uintptr_t>(this->fn_);
    } else {
      return 0;
    }
  }
  [[nodiscard]] std::uint64_t pack(wire::Encoder& out) const override {
    wire::Writer writer(out);
    std::apply([&](const auto&... args) { (writer(args), ...); }, this->args_);
    return wire::type_id<std::tuple<Args...>>();
  }

 private:
  static void enter(std::span<const std::byte> message, std::span<const int> descriptors,
                    std::uintptr_t function) {
    std::tuple<Args...> args = wire::decode_arguments<Args...>(message, descriptors);
    if constexpr (detail::is_plain_function<Fn>) {
      Fn fn = reinterpret_cast<Fn>(function);
      detail::call_with(fn, args);
    } else {
      (void)function;
      Fn fn{};
      detail::call_with(fn, args);
    }
  }
};

/// @tparam Fn and Args decayed
template <typename Fn, typename... Args>
[[nodiscard]] std::unique_ptr<Job> make_job(Fn fn, std::tuple<Args...> args) {
  detail::check_call<Fn, Args...>();
  return std::make_unique<TravelJob<Fn, Args...>>(std::move(fn), std::move(args));
}

}  // namespace plab::mp
