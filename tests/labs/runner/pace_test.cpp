// SPDX-License-Identifier: Apache-2.0
#include "pace.h"

#include <catch2/catch_test_macros.hpp>

namespace plab::lab {
namespace {

using Says = Pace::Says;

constexpr Limits kLimits{.quiet = 10, .compute = 10, .total = 40};

/// Goes on with the same kind of samples until something is said: what, and when.
template <typename Make>
std::pair<Says, double> watch(Make make) {
  Pace pace(kLimits);
  for (double at = 0; at < 1000; at += 0.5) {
    PaceSample sample = make(at);
    sample.at = at;
    if (const Says says = pace.take(sample); says != Says::kGoOn) return {says, at};
  }
  return {Says::kGoOn, 0};
}

TEST_CASE("a program in which nothing happens is stuck after the quiet time", "[lab][pace]") {
  CHECK(watch([](double) {
          return PaceSample{.cpu = {{1, 0.2}}};
        }) == std::pair(Says::kQuiet, 10.0));
}

TEST_CASE("a loop without events is stuck by what it computes, not by the clock", "[lab][pace]") {
  CHECK(watch([](double at) {
          return PaceSample{.cpu = {{1, at}}, .has_runnable = true};
        }) == std::pair(Says::kComputes, 10.0));
  // It gets a tenth of a core only: slow here, whatever it is.
  CHECK(watch([](double at) {
          return PaceSample{.cpu = {{1, at / 10}}, .has_runnable = true};
        }) == std::pair(Says::kSlow, 40.0));
  // It gets no core at all.
  CHECK(watch([](double) {
          return PaceSample{.cpu = {{1, 1.0}}, .has_runnable = true};
        }) == std::pair(Says::kSlow, 40.0));
}

TEST_CASE("a program that gets somewhere is slow, never stuck", "[lab][pace]") {
  const auto events = [](double at) { return static_cast<std::uint64_t>(at / 9); };
  CHECK(watch([&](double at) {
          return PaceSample{.events = events(at), .cpu = {{1, at}}, .has_runnable = true};
        }) == std::pair(Says::kSlow, 40.0));
  CHECK(watch([&](double at) { return PaceSample{.events = events(at), .cpu = {}}; }) ==
        std::pair(Says::kSlow, 40.0));
}

TEST_CASE("many processes that compute a little each are no endless loop", "[lab][pace]") {
  CHECK(watch([](double at) {
          return PaceSample{.cpu = {{1, at / 5}, {2, at / 5}, {3, at / 5}}, .has_runnable = true};
        }) == std::pair(Says::kSlow, 40.0));
}

TEST_CASE("what a process had computed before it was first seen does not count", "[lab][pace]") {
  Pace pace(kLimits);
  CHECK(pace.take({.at = 0, .cpu = {{1, 0.0}}}) == Says::kGoOn);
  CHECK(pace.take({.at = 1, .cpu = {{1, 0.0}, {2, 500.0}}}) == Says::kGoOn);
  CHECK(pace.take({.at = 2, .cpu = {{1, 0.0}, {2, 511.0}}}) == Says::kComputes);
}

}  // namespace
}  // namespace plab::lab
