// SPDX-License-Identifier: Apache-2.0
#include "plab/data/csv_fields.h"

#include <algorithm>

#include "plab/base/error.h"

namespace plab::data {

namespace {

constexpr std::size_t kShownBytes = 40;

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string shown(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + (text.size() > kShownBytes ? "...\"" : "\"");
}

bool Fields::skip_blank_lines() {
  const std::size_t before = at_;
  while (!at_end()) {
    const bool crlf = text_.substr(at_, 2) == "\r\n";
    if (!crlf && text_[at_] != '\n') break;
    at_ += crlf ? 2 : 1;
    ++line_;
  }
  return at_ != before;
}

std::string_view Fields::next() {
  if (ended_) {
    ended_ = false;
    line_ = next_line_;
    column_ = 0;
  }
  ++column_;
  next_line_ = line_;
  std::size_t start = at_;
  while (start < text_.size() && (text_[start] == ' ' || text_[start] == '\t')) ++start;
  if (start < text_.size() && text_[start] == '"') return quoted(start + 1);
  const char* const begin = text_.data() + at_;
  const char* const end = text_.data() + text_.size();
  const char* stop = begin;
  while (stop != end && *stop != ',' && *stop != '\n') ++stop;
  std::string_view field(begin, static_cast<std::size_t>(stop - begin));
  at_ += field.size();
  if ((stop == end || *stop == '\n') && field.ends_with('\r')) field.remove_suffix(1);
  pass_separator();
  return trimmed(field);
}

void Fields::fail(const std::string& problem) const {
  throw DataError(*name_, line_, column_, problem);
}

// After the opening quote: up to the closing one, "" standing for one quote.
std::string_view Fields::quoted(std::size_t from) {
  scratch_.clear();
  for (;;) {
    const std::size_t quote = text_.find('"', from);
    if (quote == std::string_view::npos) {
      fail("a quote opens here and is never closed; write \" at the end of the field");
    }
    const std::string_view part = text_.substr(from, quote - from);
    next_line_ += static_cast<std::size_t>(std::ranges::count(part, '\n'));
    scratch_ += part;
    from = quote + 1;
    if (from >= text_.size() || text_[from] != '"') break;
    scratch_ += '"';
    ++from;
  }
  at_ = from;
  while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  if (text_.substr(at_, 2) == "\r\n" || (at_ + 1 == text_.size() && text_[at_] == '\r')) ++at_;
  if (!at_end() && text_[at_] != ',' && text_[at_] != '\n') {
    fail(fmt::format("{} follows a closing quote; a comma or the end of the line may follow",
                     shown(text_.substr(at_, 1))));
  }
  pass_separator();
  return trimmed(scratch_);
}

void Fields::pass_separator() {
  ended_ = at_end() || text_[at_] == '\n';
  if (ended_) ++next_line_;
  if (!at_end()) ++at_;
}

}  // namespace plab::data
