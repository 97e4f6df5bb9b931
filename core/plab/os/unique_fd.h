#pragma once
// SPDX-License-Identifier: Apache-2.0
// The owner of a file descriptor. Everything in plab that opens a descriptor gives out one of
// these, and always with close-on-exec: a spawned program gets only what it is handed by number.

#include <source_location>
#include <utility>

namespace plab::os {

/// Owns one descriptor, or none (-1). Closes it when it goes.
/// @fork the child has its own copy of the descriptor and closes that; offsets and locks of the
/// open file are shared with the parent
class UniqueFd {
 public:
  UniqueFd() = default;
  /// Takes over an open descriptor; -1 gives an empty one.
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    UniqueFd(std::move(other)).swap(*this);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  /// Gives the descriptor away; the caller closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes what it has. A failing close(2) is logged: the descriptor is gone all the same.
  void reset() noexcept;
  void swap(UniqueFd& other) noexcept { std::swap(fd_, other.fd_); }

  /// A second descriptor for the same open file, numbered `at_least` or higher.
  /// @throws ResourceError at the descriptor limit, SystemError otherwise
  [[nodiscard]] UniqueFd duplicate(
      int at_least = 0, std::source_location where = std::source_location::current()) const;

 private:
  int fd_ = -1;
};

enum class Inherit { kNo, kYes };
/// Sets or clears close-on-exec. @throws SystemError for a number that is not open
void set_inherit(int fd, Inherit inherit,
                 std::source_location where = std::source_location::current());
/// Whether the number is an open descriptor of this process.
[[nodiscard]] bool is_open(int fd) noexcept;

}  // namespace plab::os
