// SPDX-License-Identifier: Apache-2.0
// SegmentName of segment.h.
#include <fmt/format.h>

#include <charconv>

#include "plab/shm/segment.h"

namespace plab::shm {

std::string SegmentName::text() const {
  return fmt::format("/plab_{}_{}_{}_{:016x}", pid, start, number, random);
}

bool SegmentName::parse(std::string_view text, SegmentName& into) noexcept {
  const auto literal = [&text](std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
  };
  const auto number = [&text](auto& value, int base) {
    const auto [stop, problem] =
        std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (problem != std::errc{} || stop == text.data()) return false;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    return true;
  };
  SegmentName name;
  (void)literal("/");
  const bool good = literal("plab_") && number(name.pid, 10) && literal("_") &&
                    number(name.start, 10) && literal("_") && number(name.number, 10) &&
                    literal("_") && number(name.random, 16) && text.empty();
  if (good) into = name;
  return good;
}

}  // namespace plab::shm
