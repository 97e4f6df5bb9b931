// SPDX-License-Identifier: Apache-2.0
#include "plab/base/json_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace plab {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The length of the valid UTF-8 sequence at the start of `text`, 0 when there is none (Unicode 15,
// table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto follows = [&](std::size_t i, std::uint8_t low, std::uint8_t high) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  const std::uint8_t first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool ok = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return ok && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool ok = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return ok && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

// Calls `ascii` for each byte below 128 and copies the rest.
template <typename Ascii>
std::string escape(std::string_view text, Ascii&& ascii) {
  std::string out;
  out.reserve(text.size() + 2);
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += kReplacement;
    } else if (length == 1) {
      ascii(out, text[0]);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

std::string json_string(std::string_view text) {
  return '"' +
         escape(text,
                [](std::string& out, char c) {
                  if (c == '"' || c == '\\') {
                    out += '\\';
                    out += c;
                  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '<' ||
                             c == '>' || c == '&') {
                    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
                  } else {
                    out += c;
                  }
                }) +
         '"';
}

std::string xml_text(std::string_view text) {
  return escape(text, [](std::string& out, char c) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7F) {
          out += kReplacement;
        } else {
          out += c;
        }
    }
  });
}

}  // namespace plab
