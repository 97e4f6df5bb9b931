#pragma once
// SPDX-License-Identifier: Apache-2.0
// A hole in a lab that nobody has filled yet.

#include <stdexcept>
#include <string>

namespace plab::lab {

/// Thrown where TODO(n) of lab.cpp is to be done. It travels from a child process like any other
/// exception, and the check says "not done yet" instead of "wrong".
class NotDone : public std::logic_error {
 public:
  explicit NotDone(int todo)
      : std::logic_error("TODO(" + std::to_string(todo) + ") is not done yet"), todo_(todo) {}
  [[nodiscard]] int todo() const noexcept { return todo_; }

 private:
  int todo_;
};

}  // namespace plab::lab
