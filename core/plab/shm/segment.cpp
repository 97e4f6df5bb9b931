// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/segment.h"

#include <array>
#include <atomic>
#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>
#include <new>
#include <utility>

#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/base/timeline.h"
#include "plab/os/file.h"
#include "plab/os/memfd.h"
#include "plab/os/proc.h"
#include "plab/os/random.h"

namespace bip = boost::interprocess;

namespace plab::shm {

namespace {

constexpr std::size_t kSegmentPage = 4096;
constexpr std::uint64_t kSegmentMagic = 0x3174'6e65'6d67'6573;
constexpr std::size_t kMostSegmentHolders = 128;

std::size_t data_pages(std::size_t bytes) {
  return (bytes + kSegmentPage - 1) / kSegmentPage * kSegmentPage;
}

void record(timeline::Kind kind, std::size_t bytes) {
  if (!timeline::enabled()) return;
  timeline::record({.kind = kind, .label = "segment", .value = static_cast<std::int64_t>(bytes)});
}

// --- the word: version (32 bits), references under way (31), removed (1) -------------------------

constexpr std::uint64_t kRemoved = 1;
constexpr std::uint64_t kInFlight = 2;
constexpr std::uint64_t kVersion = std::uint64_t{1} << 32U;
constexpr std::uint64_t kInFlightMask = kVersion - kInFlight;

}  // namespace

// In the page after the data. The protocol is that of arenas (arena.h); here each holder has a slot
// and no mask is needed.
struct Segment::Footer {
  std::atomic<std::uint64_t> magic{0};  // written last: until then nobody else takes it for one
  // fixed after start
  std::uint64_t bytes = 0;
  std::uint64_t job = 0;
  std::uint64_t job_root = 0;  // ProcessIdentity::packed
  std::atomic<std::uint64_t> word{0};
  std::array<std::atomic<std::uint64_t>, kMostSegmentHolders> holders{};  // packed; 0: free

  // Frees the slots of dead holders; whether any living one is left.
  bool sweep_holders() noexcept {
    bool any = false;
    for (auto& holder : holders) {
      std::uint64_t seen = holder.load();
      if (seen == 0) continue;
      if (os::is_alive(os::ProcessIdentity::from_packed(seen)) ||
          !holder.compare_exchange_strong(seen, 0)) {
        any = true;
      }
    }
    return any;
  }
  // True once: when nobody holds it and nothing is under way, or `in_flight_too`.
  bool claim_removal(bool in_flight_too) noexcept {
    std::uint64_t seen = word.load();
    for (;;) {
      if ((seen & kRemoved) != 0) return false;
      if ((seen & kInFlightMask) != 0 && !in_flight_too) return false;
      if (sweep_holders()) return false;
      // Fails when a reference came into being since the word was read.
      if (word.compare_exchange_strong(seen, seen | kRemoved)) return true;
    }
  }
};

Handle Segment::handle() const noexcept {
  return {name_.random, name_.start << 24U | name_.number, bytes_, kNamedBlock, name_.pid};
}

namespace {
SegmentName name_from(const Handle& handle) noexcept {
  return {handle.generation, handle.offset >> 24U,
          static_cast<std::uint32_t>(handle.offset & 0xffffffU), handle.arena};
}

// Random numbers differ between a parent and its child, the counter need not.
SegmentName next_name() {
  static std::atomic<std::uint32_t> counter{0};
  const auto self = os::self_identity();
  SegmentName name{static_cast<std::uint32_t>(self.pid), self.start & 0xff'ffff'ffffU,
                   counter.fetch_add(1) & 0xffffffU, 0};
  while (name.random == 0) name.random = os::random_u64();
  return name;
}
}  // namespace

// --- life ---------------------------------------------------------------------------------------

Segment::Segment() = default;
Segment::~Segment() { reset(); }

Segment::Segment(Segment&& other) noexcept
    : region_(std::move(other.region_)),
      name_(other.name_),
      bytes_(std::exchange(other.bytes_, 0)),
      slot_(std::exchange(other.slot_, -1)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(region_, other.region_);
  std::swap(name_, other.name_);
  std::swap(bytes_, other.bytes_);
  std::swap(slot_, other.slot_);
  return *this;
}

Segment::Footer& Segment::footer() const noexcept {
  return *std::launder(reinterpret_cast<Footer*>(data() + data_pages(bytes_)));
}

std::byte* Segment::data() const noexcept {
  return region_ ? static_cast<std::byte*>(region_->get_address()) : nullptr;
}

namespace {

[[noreturn]] void fail_space(std::size_t bytes, const std::string& why) {
  const auto space = os::dev_shm_space();
  throw ResourceError(fmt::format(
      "[shm.segment] no room for {} bytes in /dev/shm ({}): {}; remove what is not needed there, "
      "enlarge it (mount -o remount,size=..., or --shm-size of a container), or use the strategy "
      "file_descriptor",
      bytes,
      space ? fmt::format("{} of {} bytes are free", space->free, space->size)
            : std::string("it is not mounted"),
      why));
}

// Reserves all pages, so that want of memory is an error now and not SIGBUS at the first touch.
void reserve(bip::shared_memory_object& object, std::size_t total, std::size_t bytes) {
  const auto space = os::dev_shm_space();
  if (!space || total > space->free) fail_space(bytes, "too little is free");
  if (total > os::file_size_limit()) {
    fail_space(bytes, fmt::format("the file size limit (ulimit -f) is {}", os::file_size_limit()));
  }
  const int code = os::reserve_file(object.get_mapping_handle().handle, total);
  if (code != 0) fail_space(bytes, errno_text(code));
}

}  // namespace

Segment Segment::create(Bytes size, const JobIdentity& job) {
  static_assert(sizeof(Footer) <= kSegmentPage);
  Segment segment;
  segment.name_ = next_name();
  segment.bytes_ = size.count;
  const std::size_t total = data_pages(size.count) + kSegmentPage;
  const std::string name = segment.name_.text();
  try {
    bip::permissions owner_only;
    owner_only.set_permissions(0600);
    bip::shared_memory_object object(bip::create_only, name.c_str(), bip::read_write, owner_only);
    try {
      reserve(object, total, size.count);
      segment.region_ = std::make_unique<bip::mapped_region>(object, bip::read_write, 0, total);
    } catch (...) {
      bip::shared_memory_object::remove(name.c_str());
      throw;
    }
  } catch (const bip::interprocess_exception& problem) {
    fail_space(size.count, problem.what());
  }
  auto* footer = ::new (segment.data() + data_pages(size.count)) Footer;
  footer->bytes = size.count;
  footer->job = job.number;
  footer->job_root = job.root.packed();
  (void)segment.register_holder();
  footer->magic.store(kSegmentMagic);
  record(timeline::Kind::kMap, size.count);
  return segment;
}

Segment Segment::open(const SegmentName& name, Bytes size) {
  Segment segment;
  segment.name_ = name;
  const auto corrupt = [&](const std::string& why) {
    return CorruptError(
        fmt::format("[shm.segment] {} with {} bytes: {}", name.text(), size.count, why));
  };
  try {
    const bip::shared_memory_object object(bip::open_only, name.text().c_str(), bip::read_write);
    bip::offset_t length = 0;
    if (!object.get_size(length) || length < static_cast<bip::offset_t>(2 * kSegmentPage) ||
        size.count > static_cast<std::uint64_t>(length) ||
        data_pages(size.count) + kSegmentPage != static_cast<std::uint64_t>(length)) {
      throw corrupt(fmt::format("the file has {} bytes, which does not fit", length));
    }
    segment.region_ = std::make_unique<bip::mapped_region>(object, bip::read_write);
  } catch (const bip::interprocess_exception& problem) {
    if (problem.get_error_code() == bip::out_of_resource_error) {
      throw ResourceError(fmt::format("[shm.segment] map {}: {}", name.text(), problem.what()));
    }
    throw corrupt(problem.what());
  }
  segment.bytes_ = size.count;
  if (segment.footer().magic.load() != kSegmentMagic || segment.footer().bytes != size.count) {
    throw corrupt("it is not a segment of that size");
  }
  return segment;
}

Segment Segment::receive(const Handle& handle) {
  Segment segment = open(name_from(handle), Bytes{handle.bytes});
  if (!segment.register_holder()) {
    throw ResourceError(fmt::format("[shm.segment] {} has {} holders already, the most it can have",
                                    segment.name_.text(), kMostSegmentHolders));
  }
  segment.take_in_flight();
  record(timeline::Kind::kMap, segment.bytes_);
  return segment;
}

void Segment::add_in_flight() {
  auto& word = footer().word;
  std::uint64_t seen = word.load();
  do {
    if ((seen & kInFlightMask) == kInFlightMask) {
      throw ResourceError("[shm.segment] 2^31 messages with " + name_.text() + " are under way");
    }
  } while (!word.compare_exchange_weak(seen, seen + kInFlight + kVersion));
}

void Segment::take_in_flight() {
  auto& word = footer().word;
  std::uint64_t seen = word.load();
  do {
    if ((seen & kInFlightMask) == 0 || (seen & kRemoved) != 0) {
      throw CorruptError("[shm.segment] no reference to " + name_.text() + " is under way");
    }
  } while (!word.compare_exchange_weak(seen, seen - kInFlight));
}

// Also in a child: its parent's slot stays the parent's. The version changes after the slot is
// taken, as in case 3 of arena.h.
bool Segment::register_holder() noexcept {
  slot_ = -1;
  const std::uint64_t self = os::self_identity().packed();
  auto& holders = footer().holders;
  for (std::size_t s = 0; s < holders.size(); ++s) {
    std::uint64_t none = 0;
    if (!holders[s].compare_exchange_strong(none, self)) continue;
    slot_ = static_cast<int>(s);
    footer().word.fetch_add(kVersion);
    return true;
  }
  return false;
}

void Segment::reset() noexcept {
  if (!region_) return;
  if (slot_ >= 0) {
    footer().holders[static_cast<std::size_t>(slot_)].store(0);
    if (footer().claim_removal(false) && !bip::shared_memory_object::remove(name_.text().c_str())) {
      log::debug("[shm.segment] {} was removed by somebody else", name_.text());
    }
    record(timeline::Kind::kUnmap, bytes_);
  }
  region_.reset();
  slot_ = -1;
  bytes_ = 0;
}

// Whether the name should go: its maker died before it was complete; or nobody holds it and nothing
// is under way to somebody that can still receive it; or who wanted to remove it died before.
bool Segment::is_garbage(const std::string& file, bool maker_lives) {
  const bip::shared_memory_object object(bip::open_only, file.c_str(), bip::read_write);
  bip::offset_t length = 0;
  (void)object.get_size(length);
  if (length < static_cast<bip::offset_t>(2 * kSegmentPage)) return !maker_lives;
  const bip::mapped_region last(object, bip::read_write, length - bip::offset_t{kSegmentPage},
                                kSegmentPage);
  auto& footer = *std::launder(static_cast<Footer*>(last.get_address()));
  if (footer.magic.load() != kSegmentMagic) return !maker_lives;
  const bool job_lives = os::is_alive(os::ProcessIdentity::from_packed(footer.job_root));
  return footer.claim_removal(!maker_lives && !job_lives) || (footer.word.load() & kRemoved) != 0;
}

std::size_t sweep_dead_segments(SweepScope scope) {
  std::size_t removed = 0;
  for (const std::string& file : os::list_folder("/dev/shm", "plab_")) {
    SegmentName name;
    if (!SegmentName::parse(file, name)) continue;
    // The name has 40 bits of the start time, so compare those.
    const auto pid = static_cast<pid_t>(name.pid);
    const auto start = os::start_time(pid);
    const bool maker_lives =
        start && (*start & 0xff'ffff'ffffU) == name.start && os::is_alive(pid, *start);
    if (maker_lives && scope == SweepScope::kMakerDead) continue;
    try {
      if (Segment::is_garbage(file, maker_lives) &&
          bip::shared_memory_object::remove(file.c_str())) {
        ++removed;
      }
    } catch (const bip::interprocess_exception& problem) {
      // another one was quicker, or it belongs to another user
      log::debug("[shm.segment] sweep {}: {}", file, problem.what());
    }
  }
  return removed;
}

}  // namespace plab::shm
