// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/depot.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "plab/base/error.h"
#include "plab/os/memfd.h"
#include "plab/os/random.h"
#include "plab/os/socket.h"
#include "plab/shm/mutex.h"

namespace plab::shm {

namespace {

constexpr std::uint64_t kDepotMagic = 0x3174'6f70'6564'7031;
constexpr std::size_t kBuffer = std::size_t{4} << 20U;

struct Record {
  std::uint64_t magic = kDepotMagic;
  std::uint64_t arena = 0;
  std::uint64_t owner = 0;  // ProcessIdentity::packed
  std::uint64_t job = 0;
};
static_assert(sizeof(Record) == 32 && std::is_trivially_copyable_v<Record>);

std::span<std::byte> bytes_of(Record& record) {
  return std::as_writable_bytes(std::span(&record, 1));
}

// A process that holds the depot's lock makes a few system calls; longer than this it is stopped.
Deadline patience() { return Deadline::after(std::chrono::seconds(60)); }

}  // namespace

struct Depot::Shared {
  std::uint64_t magic = kDepotMagic;
  std::uint64_t job = 0;                  // fixed after start
  std::uint64_t root = 0;                 // ProcessIdentity::packed; fixed after start
  std::atomic<std::uint64_t> entries{0};  // about: a kill between sending and counting is missed
  std::atomic<std::uint64_t> version{1};  // changes after each append
  Mutex mutex;
};

Depot::Shared& Depot::shared() const noexcept {
  return *std::launder(reinterpret_cast<Shared*>(state_.data()));
}

Depot Depot::create() {
  Depot depot;
  depot.state_fd_ = os::create_memfd("plab_depot", Bytes{sizeof(Shared)});
  depot.state_ = os::Mapping::shared(depot.state_fd_.get(), Bytes{sizeof(Shared)});
  auto sockets = os::create_socket_pair();
  depot.write_ = std::move(sockets.first);
  depot.read_ = std::move(sockets.second);
  (void)os::set_send_buffer(depot.write_.get(), kBuffer);
  auto* shared = ::new (depot.state_.data()) Shared;
  shared->job = os::random_u64();
  shared->root = os::self_identity().packed();
  return depot;
}

Depot Depot::open(std::array<os::UniqueFd, 3> descriptors) {
  Depot depot;
  depot.write_ = std::move(descriptors[0]);
  depot.read_ = std::move(descriptors[1]);
  depot.state_fd_ = std::move(descriptors[2]);
  if (!depot.write_ || !depot.read_ || !depot.state_fd_ ||
      os::file_use(depot.state_fd_.get()).size != sizeof(Shared)) {
    throw CorruptError(fmt::format("[shm.depot] descriptors {}, {} and {} are not those of a depot",
                                   depot.write_.get(), depot.read_.get(), depot.state_fd_.get()));
  }
  depot.state_ = os::Mapping::shared(depot.state_fd_.get(), Bytes{sizeof(Shared)});
  if (depot.shared().magic != kDepotMagic) {
    throw CorruptError(fmt::format("[shm.depot] descriptor {} is not the state of a depot",
                                   depot.state_fd_.get()));
  }
  return depot;
}

// The record at the peek offset, which moves on; nothing at the end. The caller has the lock.
std::optional<Depot::Entry> Depot::peek() {
  Record record;
  auto received =
      os::recv_message(read_.get(), bytes_of(record), 1, Deadline::passed(), os::Peek::kYes);
  if (!received || received->bytes == 0) return std::nullopt;
  if (received->bytes != sizeof(Record) || record.magic != kDepotMagic || record.job != job() ||
      received->descriptors.size() != 1) {
    throw CorruptError(
        fmt::format("[shm.depot] the log of job {:016x} holds {} bytes and {} "
                    "descriptors that are no record",
                    job(), received->bytes, received->descriptors.size()));
  }
  return Entry{record.arena, os::ProcessIdentity::from_packed(record.owner),
               std::move(received->descriptors.front())};
}

void Depot::append(std::uint64_t arena, os::ProcessIdentity owner, int fd) {
  Record record{.arena = arena, .owner = owner.packed(), .job = job()};
  if (os::send_message(write_.get(), bytes_of(record), std::span(&fd, 1), Deadline::passed()) ==
      os::SendResult::kTimedOut) {
    throw ResourceError(
        fmt::format("[shm.depot] the log of this job's arenas is full with {} of them; free shared "
                    "memory, raise PLAB_ARENA_MIB so that fewer arenas are needed, or raise "
                    "net.core.wmem_max",
                    entries()));
  }
  shared().entries.fetch_add(1);
  shared().version.fetch_add(1);
}

std::optional<Depot::Entry> Depot::find(std::uint64_t arena) {
  const LockGuard guard(shared().mutex, patience());
  const std::uint64_t version = shared().version.load();
  if (version == seen_version_ && std::ranges::find(seen_, arena) == seen_.end()) {
    return std::nullopt;
  }
  seen_version_ = 0;
  seen_.clear();
  os::set_peek_offset(read_.get(), 0);
  while (auto entry = peek()) {
    if (entry->arena == arena) return entry;
    seen_.push_back(entry->arena);
  }
  seen_version_ = version;
  return std::nullopt;
}

void Depot::for_each(const std::function<void(const Entry&)>& visit) {
  const LockGuard guard(shared().mutex, patience());
  os::set_peek_offset(read_.get(), 0);
  while (const auto entry = peek()) visit(*entry);
}

void Depot::compact(const std::function<bool(const Entry&)>& keep) {
  const LockGuard guard(shared().mutex, patience());
  std::uint64_t count = 0;
  os::set_peek_offset(read_.get(), 0);
  while (peek()) ++count;
  shared().entries.store(count);
  std::vector<std::uint64_t> kept;
  for (std::uint64_t i = 0; i < count; ++i) {
    os::set_peek_offset(read_.get(), 0);
    const auto entry = peek();
    if (!entry) break;
    const bool twice = std::ranges::find(kept, entry->arena) != kept.end();
    if (!twice && keep(*entry)) {
      // Appended before the original is consumed: a kill in between leaves both, never none.
      append(entry->arena, entry->owner, entry->fd.get());
      kept.push_back(entry->arena);
    }
    Record record;
    os::set_peek_offset(read_.get(), -1);
    (void)os::recv_message(read_.get(), bytes_of(record), 1, Deadline::passed());
    shared().entries.fetch_sub(1);
  }
}

std::uint64_t Depot::entries() const noexcept { return shared().entries.load(); }

os::ProcessIdentity Depot::root() const noexcept {
  return os::ProcessIdentity::from_packed(shared().root);
}

std::uint64_t Depot::job() const noexcept { return shared().job; }

std::array<int, 3> Depot::numbers() const noexcept {
  return {write_.get(), read_.get(), state_fd_.get()};
}

}  // namespace plab::shm
