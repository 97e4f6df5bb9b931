#pragma once
// SPDX-License-Identifier: Apache-2.0
// The exceptions of plab. Expected outcomes (full, empty, timed out, owner died) are return values;
// what is below is thrown when something failed or was misused. A message reads
// "[layer.part] what happened, with numbers; what is valid; how to mend it".

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace plab {

/// The root of every exception that plab throws.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message,
                 std::source_location where = std::source_location::current())
      : std::runtime_error(message), where_(where) {}
  /// The line of plab (or of the caller, where a function passes it on) that threw.
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  std::source_location where_;
};

/// The caller broke the contract of a function: a wrong argument, a wrong order of calls.
class ContractError : public Error {
 public:
  using Error::Error;
};

/// Shapes that do not fit each other; the message names both.
class ShapeError : public ContractError {
 public:
  using ContractError::ContractError;
};

/// Dtypes that do not fit each other or the operation; the message names them.
class DTypeError : public ContractError {
 public:
  using ContractError::ContractError;
};

/// A system call failed. The message ends with the errno's name and text.
class SystemError : public Error {
 public:
  /// @param code the errno; its name and text are added to `message`
  SystemError(const std::string& message, int code,
              std::source_location where = std::source_location::current());
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// Memory, descriptors, processes or space in /dev/shm ran out.
class ResourceError : public Error {
 public:
  using Error::Error;
};

/// A message, a handle or a file of another program is damaged or hostile.
class CorruptError : public Error {
 public:
  using Error::Error;
};

/// A file of the user holds bad data. `line` and `column` start at 1; 0 means unknown.
class DataError : public Error {
 public:
  DataError(std::string file, std::size_t line, std::size_t column, const std::string& problem,
            std::source_location where = std::source_location::current());
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  [[nodiscard]] std::size_t column() const noexcept { return column_; }

 private:
  std::string file_;
  std::size_t line_;
  std::size_t column_;
};

/// A process at the other end of something died.
class PeerDied : public Error {
 public:
  using Error::Error;
};

/// A deadline passed in a call whose time-out is not an expected outcome.
class TimeoutError : public Error {
 public:
  using Error::Error;
};

/// "EAGAIN (Resource temporarily unavailable)"; "errno 4711 (...)" for an unknown one.
[[nodiscard]] std::string errno_text(int code);

/// The readable name of a type, from `typeid(x).name()`.
[[nodiscard]] std::string demangle(const char* mangled);

}  // namespace plab
