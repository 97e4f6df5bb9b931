#pragma once
// SPDX-License-Identifier: Apache-2.0
// Cuts comma-separated text into fields; knows quotes, CRLF, and where it is.

#include <cstddef>
#include <string>
#include <string_view>

namespace plab::data {

/// What was found, in quotes, for a message: short, and nothing that a terminal would obey.
[[nodiscard]] std::string shown(std::string_view text);

/// Walks over the fields of a text, which must outlive it. Copying it remembers the place.
class Fields {
 public:
  /// @param name of the file, for messages; must outlive this
  Fields(std::string_view text, const std::string& name) : text_(text), name_(&name) {}

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] std::size_t line() const { return line_; }      ///< of the last field, from 1
  [[nodiscard]] std::size_t column() const { return column_; }  ///< of the last field, from 1
  /// Whether the last field was the last one of its line.
  [[nodiscard]] bool ended() const { return ended_; }

  /// Goes on behind lines without a character; true when there was one.
  bool skip_blank_lines();

  /// The next field, without its quotes and outer blanks; valid until the next call.
  /// @throws DataError for a quote that is never closed, or text behind a closing one
  std::string_view next();

  /// @throws DataError always, at the last field
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  std::string_view quoted(std::size_t from);
  void pass_separator();

  std::string_view text_;
  const std::string* name_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t next_line_ = 1;
  std::size_t column_ = 0;
  bool ended_ = false;
  std::string scratch_;
};

}  // namespace plab::data
