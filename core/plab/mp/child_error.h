#pragma once
// SPDX-License-Identifier: Apache-2.0
// An exception of a child process, as its parent gets it: everything as text, whole.

#include <exception>
#include <string>
#include <vector>

namespace plab::mp {

/// What was thrown in a child.
struct ChildError {
  /// One exception: the one that left the function, and below it those that it was nested on
  /// (std::throw_with_nested), outermost first.
  struct Layer {
    std::string type;     ///< demangled, as "std::out_of_range"; "unknown" for foreign ones
    std::string message;  ///< what(); empty for a type that is no std::exception
    template <class Archive>
    void serialize(Archive& archive) {
      archive(type, message);
    }
  };
  std::vector<Layer> layers;  ///< never empty
  /// The functions that were active at the throw, innermost first: "name +0x1f (module)". Empty
  /// when it was thrown in another thread, by C code, or by rethrowing a stored exception from
  /// elsewhere. Inlined functions do not show; names of functions that a module does not export
  /// are missing (link with -rdynamic to have them).
  std::vector<std::string> stack;

  [[nodiscard]] const std::string& type() const { return layers.front().type; }
  [[nodiscard]] const std::string& message() const { return layers.front().message; }
  /// All of it on several lines, as it is printed.
  [[nodiscard]] std::string text() const;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(layers, stack);
  }
};

/// Describes an exception. Call it in the thread that threw it, right after the catch.
[[nodiscard]] ChildError describe(const std::exception_ptr& error);

}  // namespace plab::mp
