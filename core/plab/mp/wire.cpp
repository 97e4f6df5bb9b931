// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/wire.h"

#include <algorithm>
#include <utility>

#include "plab/base/error.h"
#include "plab/base/log.h"

namespace plab::mp::wire {

namespace {

constexpr std::size_t kFirstCapacity = 4096;
constexpr std::size_t kKeptCapacity = std::size_t{1} << 20U;  // a larger buffer is not kept
constexpr std::size_t kLinearRows = 16;

/// What one thread keeps between two messages. Taken out while it is in use, so that an encoder
/// inside an encoder gets one of its own.
struct Scratch {
  std::unique_ptr<std::byte[]> data;
  std::size_t capacity = 0;
  std::vector<shm::Handle> handles;
};

Scratch& scratch() {
  thread_local Scratch kept;
  return kept;
}

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

bool same_block(const shm::Handle& a, const shm::Handle& b) {
  return a.arena == b.arena && a.block == b.block && a.generation == b.generation &&
         a.offset == b.offset;
}

std::uint64_t key_of(const shm::Handle& handle) {
  std::uint64_t key = handle.arena;
  for (const std::uint64_t part :
       {handle.offset, std::uint64_t{handle.block}, std::uint64_t{handle.generation}}) {
    key = (key ^ part) * 0x9e3779b97f4a7c15;
    key ^= key >> 29U;
  }
  return key;
}

void give_back(const shm::Handle& handle) noexcept {
  try {
    shm::Block::discard(handle);
  } catch (const std::exception& problem) {
    log::debug("[mp.wire] a reference could not be given back: {}", problem.what());
  }
}

}  // namespace

Encoder::Encoder(Descriptors* descriptors) : descriptors_(descriptors) {
  Scratch& kept = scratch();
  data_ = std::move(kept.data);
  capacity_ = std::exchange(kept.capacity, 0);
  handles_ = std::move(kept.handles);
  handles_.clear();
  if (capacity_ == 0) {
    data_ = std::make_unique_for_overwrite<std::byte[]>(kFirstCapacity);
    capacity_ = kFirstCapacity;
  }
}

Encoder::~Encoder() {
  for (const auto& handle : handles_) give_back(handle);
  Scratch& kept = scratch();
  if (kept.capacity != 0 || capacity_ > kKeptCapacity) return;
  handles_.clear();
  kept.data = std::move(data_);
  kept.capacity = capacity_;
  kept.handles = std::move(handles_);
}

void Encoder::grow(std::size_t count) {
  const std::size_t capacity = std::max(capacity_ * 2, padded(size_ + count));
  auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
  std::memcpy(larger.get(), data_.get(), size_);
  data_ = std::move(larger);
  capacity_ = capacity;
}

std::uint32_t Encoder::block(const shm::Block& block) {
  if (!block) return kNoBlock;
  const shm::Handle wanted = block.handle();
  if (handles_.size() <= kLinearRows) {
    for (std::size_t row = 0; row < handles_.size(); ++row) {
      if (same_block(handles_[row], wanted)) return static_cast<std::uint32_t>(row);
    }
  } else {
    if (!rows_) {
      rows_ = std::make_unique<Rows>();
      for (std::size_t row = 0; row < handles_.size(); ++row) {
        rows_->emplace(key_of(handles_[row]), static_cast<std::uint32_t>(row));
      }
    }
    const auto found = rows_->find(key_of(wanted));
    if (found != rows_->end() && same_block(handles_[found->second], wanted)) return found->second;
  }
  handles_.reserve(handles_.size() + 1);  // so that nothing throws between send() and the row
  handles_.push_back(block.send());
  const auto row = static_cast<std::uint32_t>(handles_.size() - 1);
  if (rows_) rows_->emplace(key_of(wanted), row);
  return row;
}

std::uint32_t Encoder::descriptor(int number) {
  if (descriptors_ == nullptr) {
    throw ContractError(
        "[mp.wire] a Connection cannot go through a queue or another Connection; give it to the "
        "process as an argument when you start it");
  }
  descriptors_->numbers.push_back(number);
  return static_cast<std::uint32_t>(descriptors_->numbers.size() - 1);
}

std::span<const std::byte> Encoder::finish(std::uint64_t type) {
  const Header header{
      .magic = kMagic,
      .handles = static_cast<std::uint32_t>(handles_.size()),
      .body_bytes = size_ - sizeof(Header),
      .type = type,
      .descriptors = descriptors_ == nullptr ? 0 : descriptors_->numbers.size(),
  };
  std::memcpy(data_.get(), &header, sizeof header);
  constexpr std::uint64_t kZero = 0;
  bytes(&kZero, padded(size_) - size_);
  bytes(handles_.data(), handles_.size() * sizeof(shm::Handle));
  return {data_.get(), size_};
}

void Encoder::sent() noexcept { handles_.clear(); }

Decoder::Decoder(std::span<const std::byte> message) : header_{} {
  if (message.size() < sizeof(Header)) {
    throw CorruptError(fmt::format("[mp.wire] a message of {} bytes is shorter than its header, {}",
                                   message.size(), sizeof(Header)));
  }
  std::memcpy(&header_, message.data(), sizeof header_);
  const std::size_t rest = message.size() - sizeof(Header);
  const std::size_t table = std::size_t{header_.handles} * sizeof(shm::Handle);
  if (header_.magic != kMagic || header_.body_bytes > rest || table > rest ||
      padded(header_.body_bytes) + table != rest) {
    throw CorruptError(fmt::format(
        "[mp.wire] the header does not fit its message: magic {:#x} (valid {:#x}), body of {} "
        "bytes and {} handles in {} bytes",
        header_.magic, kMagic, header_.body_bytes, header_.handles, rest));
  }
  begin_ = at_ = message.data() + sizeof(Header);
  end_ = begin_ + header_.body_bytes;
  table_ = begin_ + padded(header_.body_bytes);
}

Decoder::~Decoder() {
  for (std::uint32_t row = 0; row < header_.handles; ++row) {
    if (received(row)) continue;
    shm::Handle handle;
    std::memcpy(&handle, table_ + std::size_t{row} * sizeof handle, sizeof handle);
    give_back(handle);
  }
}

void Decoder::expect(std::uint64_t type, std::string_view name) const {
  if (header_.type == type) return;
  throw CorruptError(fmt::format(
      "[mp.wire] the message holds another type ({:#x}) than {} ({:#x}); both ends of a "
      "queue or connection must use one type",
      header_.type, name, type));
}

void Decoder::truncated(std::size_t wanted) const {
  throw CorruptError(
      fmt::format("[mp.wire] the message ends too early: {} bytes wanted at byte {} of {}", wanted,
                  at_ - begin_, header_.body_bytes));
}

std::uint64_t Decoder::count() {
  const auto value = number<std::uint64_t>();
  if (value > left()) {
    throw CorruptError(fmt::format(
        "[mp.wire] a count of {} in a message with {} bytes left; each thing takes at least one",
        value, left()));
  }
  return value;
}

shm::Block Decoder::block(std::uint32_t row) {
  if (row == kNoBlock) return {};
  if (row >= header_.handles) {
    throw CorruptError(
        fmt::format("[mp.wire] handle {} is named, the message has {}", row, header_.handles));
  }
  Row& taken = row_at(row);
  if (!taken.received) {
    shm::Handle handle;
    std::memcpy(&handle, table_ + std::size_t{row} * sizeof handle, sizeof handle);
    taken.received = true;  // a handle that is refused has no reference to give back
    taken.block = shm::Block::receive(handle);
  }
  return taken.block;
}

Decoder::Row& Decoder::row_at(std::uint32_t row) {
  if (header_.handles <= few_.size()) return few_[row];
  if (many_.empty()) many_.resize(header_.handles);
  return many_[row];
}

bool Decoder::received(std::uint32_t row) const noexcept {
  if (header_.handles <= few_.size()) return few_[row].received;
  return !many_.empty() && many_[row].received;
}

void Decoder::set_descriptors(std::span<const int> numbers) {
  if (numbers.size() != header_.descriptors) {
    throw CorruptError(fmt::format("[mp.wire] {} descriptors came with a message that has {}",
                                   numbers.size(), header_.descriptors));
  }
  descriptors_.assign(numbers.begin(), numbers.end());
}

int Decoder::descriptor(std::uint32_t index) {
  if (index >= descriptors_.size() || descriptors_[index] < 0) {
    throw CorruptError(fmt::format("[mp.wire] descriptor {} is named, {} came along, each once",
                                   index, descriptors_.size()));
  }
  return std::exchange(descriptors_[index], -1);
}

void Decoder::finish() const {
  if (left() == 0) return;
  throw CorruptError(fmt::format("[mp.wire] {} bytes of {} are left over after the last value",
                                 left(), header_.body_bytes));
}

void discard(std::span<const std::byte> message) noexcept {
  try {
    const Decoder decoder(message);
  } catch (const std::exception& problem) {
    log::debug("[mp.wire] a damaged message was dropped: {}", problem.what());
  }
}

}  // namespace plab::mp::wire
