#pragma once
// SPDX-License-Identifier: Apache-2.0
// A function with its arguments, on its way to another process. Process and spawn() make these.

#include <cstdint>
#include <functional>
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

/// The parameters of a function or of a function object that has one operator(); for others
/// (generic lambdas) there is no `list`.
template <typename Fn>
struct Parameters {};
template <typename R, typename... P>
struct Parameters<R (*)(P...)> {
  using list = std::tuple<P...>;
};
template <typename R, typename... P>
struct Parameters<R (*)(P...) noexcept> {
  using list = std::tuple<P...>;
};
template <typename C, typename R, typename... P>
auto plain_form(R (C::*)(P...) const) -> R (*)(P...);
template <typename C, typename R, typename... P>
auto plain_form(R (C::*)(P...)) -> R (*)(P...);
template <typename C, typename R, typename... P>
auto plain_form(R (C::*)(P...) const noexcept) -> R (*)(P...);
template <typename Fn>
requires requires { plain_form(&Fn::operator()); }
struct Parameters<Fn> : Parameters<decltype(plain_form(&Fn::operator()))> {};

/// How a stored T is passed for a parameter P: an lvalue for `T&`, else moved.
template <typename P, typename T>
using passed_t = std::conditional_t<
    std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>, T&, T&&>;
template <typename List, typename... Args>
struct Passed {
  using list = std::tuple<Args&&...>;
};
template <typename... P, typename... Args>
requires(sizeof...(P) == sizeof...(Args)) struct Passed<std::tuple<P...>, Args...> {
  using list = std::tuple<passed_t<P, Args>...>;
};
template <typename Fn>
struct ListOf {
  using type = void;
};
template <typename Fn>
requires requires { typename Parameters<Fn>::list; }
struct ListOf<Fn> {
  using type = typename Parameters<Fn>::list;
};
template <typename Fn, typename... Args>
using passed_list_t = typename Passed<typename ListOf<Fn>::type, Args...>::list;

template <typename Fn, typename List>
inline constexpr bool callable_with = false;
template <typename Fn, typename... Passed>
inline constexpr bool callable_with<Fn, std::tuple<Passed...>> =
    std::is_invocable_v<Fn&, Passed...>;
template <typename Fn, typename... Args>
inline constexpr bool callable = callable_with<Fn, passed_list_t<Fn, Args...>>;

/// Calls with the arguments of a tuple that nobody needs afterwards: as lvalues where the function
/// has a `T&`, else moved, so that it may take them by value, `const T&` or `T&&`.
template <typename Fn, typename... Args>
void call_with(Fn& fn, std::tuple<Args...>& args) {
  using List = passed_list_t<Fn, Args...>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (void)std::invoke(fn, static_cast<std::tuple_element_t<I, List>>(std::get<I>(args))...);
  }
  (std::index_sequence_for<Args...>{});
}

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
