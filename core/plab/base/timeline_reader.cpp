// SPDX-License-Identifier: Apache-2.0
#include "plab/base/timeline_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "plab/base/error.h"

namespace plab::timeline {

namespace {

constexpr std::uint64_t kMostTickets = std::uint64_t{1} << 62U;

// Plain copies of what lies in the ring: atomics cannot be copied out of untrusted bytes.
struct RawRecord {
  std::uint64_t sequence;
  std::int64_t start_ns;
  std::int64_t duration_ns;
  std::uint64_t id;
  std::int64_t value;
  std::uint32_t tid;
  std::uint8_t kind;
  std::uint8_t label_bytes;
  char label[kLabelBytes];
};
static_assert(sizeof(RawRecord) == sizeof(Record) &&
              offsetof(RawRecord, label) == offsetof(Record, label));

template <typename T>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

[[noreturn]] void corrupt(std::string_view source, const std::string& problem) {
  throw CorruptError(
      fmt::format("[base.timeline] {} is no ring of events: {}; it is damaged or was written by "
                  "another version",
                  source, problem));
}

struct Layout {
  std::uint64_t capacity;
  std::uint64_t next;
};

Layout check_header(std::span<const std::byte> bytes, std::string_view source) {
  if (bytes.size() < sizeof(RingHeader)) {
    corrupt(source, fmt::format("{} bytes, a header has {}", bytes.size(), sizeof(RingHeader)));
  }
  const auto magic = load<std::uint64_t>(bytes, offsetof(RingHeader, magic));
  if (magic != kMagic) corrupt(source, fmt::format("it begins with {:#018x}", magic));
  const auto version = load<std::uint32_t>(bytes, offsetof(RingHeader, version));
  if (version != kVersion) {
    corrupt(source, fmt::format("version {}, this program reads {}", version, kVersion));
  }
  const auto record_bytes = load<std::uint32_t>(bytes, offsetof(RingHeader, record_bytes));
  if (record_bytes != sizeof(Record)) {
    corrupt(source, fmt::format("records of {} bytes, not {}", record_bytes, sizeof(Record)));
  }
  const auto capacity = load<std::uint64_t>(bytes, offsetof(RingHeader, capacity));
  if (!std::has_single_bit(capacity) || capacity < 2 || capacity > kMostRecords ||
      bytes.size() != ring_bytes(capacity)) {
    corrupt(source, fmt::format("{} records in {} bytes", capacity, bytes.size()));
  }
  const auto next = load<std::uint64_t>(bytes, offsetof(RingHeader, next));
  if (next > kMostTickets) corrupt(source, fmt::format("{} events begun", next));
  return Layout{capacity, next};
}

// Nothing when the record of this ticket is not complete, or has changed meanwhile.
std::optional<PastEvent> read_record(std::span<const std::byte> bytes,
                                     std::span<const std::byte> again, std::uint64_t ticket,
                                     std::string_view source) {
  const std::uint64_t slot =
      ticket & (load<std::uint64_t>(bytes, offsetof(RingHeader, capacity)) - 1);
  const std::size_t offset = sizeof(RingHeader) + slot * sizeof(Record);
  const auto raw = load<RawRecord>(bytes, offset);
  const auto problem = [&](std::string_view what, auto number) {
    corrupt(source, fmt::format("{} {} in record {} at byte {}", what, number, slot, offset));
  };
  if (raw.sequence != 2 * ticket + 2) return std::nullopt;
  if (raw.sequence != load<std::uint64_t>(again, offset)) return std::nullopt;
  if (raw.kind == 0 || raw.kind > kLastKind) problem("kind", unsigned{raw.kind});
  if (raw.label_bytes > kLabelBytes) problem("label length", unsigned{raw.label_bytes});
  if (raw.start_ns < 0) problem("start", raw.start_ns);
  if (raw.duration_ns < 0 ||
      raw.duration_ns > std::numeric_limits<std::int64_t>::max() - raw.start_ns) {
    problem("duration", raw.duration_ns);
  }
  return PastEvent{.kind = static_cast<Kind>(raw.kind),
                   .tid = raw.tid,
                   .start_ns = raw.start_ns,
                   .duration_ns = raw.duration_ns,
                   .id = raw.id,
                   .value = raw.value,
                   .label = std::string(raw.label, raw.label_bytes)};
}

}  // namespace

ProcessTrack read_ring(std::span<const std::byte> bytes, std::span<const std::byte> again,
                       std::string_view source) {
  const Layout layout = check_header(bytes, source);
  if (again.size() != bytes.size()) {
    corrupt(source, fmt::format("its size changed from {} to {}", bytes.size(), again.size()));
  }
  ProcessTrack track;
  track.pid = load<std::uint32_t>(bytes, offsetof(RingHeader, pid));
  track.parent_pid = load<std::uint32_t>(bytes, offsetof(RingHeader, parent_pid));
  track.start_time = load<std::uint64_t>(bytes, offsetof(RingHeader, start_time));
  track.dropped = load<std::uint64_t>(bytes, offsetof(RingHeader, dropped));
  const auto* const name = reinterpret_cast<const char*>(bytes.data()) + offsetof(RingHeader, name);
  track.name.assign(name, strnlen(name, kNameBytes));
  track.overwritten = layout.next > layout.capacity ? layout.next - layout.capacity : 0;
  for (std::uint64_t ticket = track.overwritten; ticket < layout.next; ++ticket) {
    auto event = read_record(bytes, again, ticket, source);
    if (!event) {
      ++track.torn;
      continue;
    }
    if (event->kind == Kind::kExit) {
      track.end = End::kExited;
      track.exit_code = event->value;
    }
    track.events.push_back(std::move(*event));
  }
  // A dropped event leaves its place as it was, which the loop above took for a torn one.
  track.torn -= std::min(track.torn, track.dropped);
  return track;
}

void sort_processes(Timeline& timeline) {
  const auto first = [](const ProcessTrack& track) {
    return track.events.empty() ? std::numeric_limits<std::int64_t>::max()
                                : track.events.front().start_ns;
  };
  std::ranges::stable_sort(timeline.processes, {}, first);
}

std::optional<Interval> interval_of(const Timeline& timeline) {
  std::optional<Interval> all;
  for (const ProcessTrack& track : timeline.processes) {
    for (const PastEvent& event : track.events) {
      const std::int64_t end = event.start_ns + event.duration_ns;
      if (!all) all = Interval{event.start_ns, end};
      all->first_ns = std::min(all->first_ns, event.start_ns);
      all->last_ns = std::max(all->last_ns, end);
    }
  }
  return all;
}

}  // namespace plab::timeline
