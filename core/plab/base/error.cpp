// SPDX-License-Identifier: Apache-2.0
#include "plab/base/error.h"

#include <cxxabi.h>
#include <cstring>

#include <cstdlib>
#include <memory>
#include <utility>

namespace plab {

std::string errno_text(int code) {
  const char* name = strerrorname_np(code);
  const char* text = strerrordesc_np(code);
  if (name == nullptr || text == nullptr) return fmt::format("errno {} (unknown)", code);
  return fmt::format("{} ({})", name, text);
}

SystemError::SystemError(const std::string& message, int code, std::source_location where)
    : Error(message + ": " + errno_text(code), where), code_(code) {}

namespace {

std::string data_error_text(const std::string& file, std::size_t line, std::size_t column,
                            const std::string& problem) {
  std::string place = file;
  if (line != 0) place += fmt::format(":{}", line);
  if (line != 0 && column != 0) place += fmt::format(":{}", column);
  return place + ": " + problem;
}

}  // namespace

DataError::DataError(std::string file, std::size_t line, std::size_t column,
                     const std::string& problem, std::source_location where)
    : Error(data_error_text(file, line, column, problem), where),
      file_(std::move(file)),
      line_(line),
      column_(column) {}

std::string demangle(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : std::string(mangled);
}

}  // namespace plab
