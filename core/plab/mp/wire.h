#pragma once
// SPDX-License-Identifier: Apache-2.0
// The wire format: how a value becomes the bytes of a message and back. A message is a header, a
// body, and a table of handles:
//
//   | Header (32 bytes) | body, padded to 8 | Handle, Handle, ... (32 bytes each) |
//
// The body holds numbers, strings and containers. Shared memory (tensors, queues, locks) stands in
// the table; the body names its row. So a message that nobody can read, because it is damaged or
// its queue is gone, can still give back every reference that it holds.
//
// Nothing in a message is trusted: each length is checked against what is left before memory is
// taken, and whatever does not fit is a CorruptError.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plab/base/types.h"
#include "plab/shm/block.h"

namespace plab {
class Tensor;
}

namespace plab::mp::wire {

/// The start of every message. The numbers are those of this machine: messages do not leave it.
struct Header {
  std::uint32_t magic;
  std::uint32_t handles;     ///< rows of the table
  std::uint64_t body_bytes;  ///< without the padding
  std::uint64_t type;        ///< type_id of what is inside
  std::uint64_t descriptors;
};
static_assert(sizeof(Header) == 32);
inline constexpr std::uint32_t kMagic = 0x31574c50;  // "PLW1"
/// A value may hold values that hold values ... this deep; deeper is refused on both sides.
inline constexpr int kMaxDepth = 512;
/// The row of something that has no memory (an empty tensor).
inline constexpr std::uint32_t kNoBlock = 0xffffffff;

/// A number for a type, the same in every process that runs this binary.
template <typename T>
[[nodiscard]] consteval std::uint64_t type_id() noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over the compiler's name of the type
  for (const char c : std::string_view(__PRETTY_FUNCTION__)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

/// Descriptors that go along with the arguments of a process. The numbers are looked at, not
/// owned.
struct Descriptors {
  std::vector<int> numbers;
};

/// Builds one message. Each thread keeps one buffer for it, so a small message allocates nothing.
/// Not for two threads. What it refers to is given back when it is destroyed before sent().
class Encoder {
 public:
  /// @param descriptors where Connections put theirs; null refuses them
  explicit Encoder(Descriptors* descriptors = nullptr);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  void bytes(const void* data, std::size_t count) {
    if (count > capacity_ - size_) grow(count);
    if (count != 0) std::memcpy(data_.get() + size_, data, count);
    size_ += count;
  }
  template <typename T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(&value, sizeof value);
  }
  /// The row of this block; a new one holds one reference under way.
  [[nodiscard]] std::uint32_t block(const shm::Block& block);
  /// @throws ContractError when this message can take no descriptors
  [[nodiscard]] std::uint32_t descriptor(int number);
  /// A tensor: see the rules at encode_tensor.
  void tensor(const Tensor& tensor);

  /// The finished message; valid until the encoder is destroyed.
  [[nodiscard]] std::span<const std::byte> finish(std::uint64_t type);
  /// The message was handed on: its references belong to its receiver now.
  void sent() noexcept;
  [[nodiscard]] std::size_t body_bytes() const noexcept { return size_ - sizeof(Header); }

 private:
  void grow(std::size_t count);

  std::unique_ptr<std::byte[]> data_;
  std::size_t capacity_ = 0;
  std::size_t size_ = sizeof(Header);
  std::vector<shm::Handle> handles_;
  using Rows = std::unordered_map<std::uint64_t, std::uint32_t>;
  std::unique_ptr<Rows> rows_;  // made once there are many rows
  Descriptors* descriptors_;
};

/// Reads one message from bytes that nobody else writes to (a private copy). What the message
/// refers to and was not taken out is given back when it is destroyed.
class Decoder {
 public:
  /// @throws CorruptError when header, length and table do not fit each other
  explicit Decoder(std::span<const std::byte> message);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// @throws CorruptError when something else than `type` is inside
  void expect(std::uint64_t type, std::string_view name) const;
  void bytes(void* data, std::size_t count) {
    if (count > left()) truncated(count);
    if (count != 0) std::memcpy(data, at_, count);
    at_ += count;
  }
  template <typename T>
  [[nodiscard]] T number() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    bytes(&value, sizeof value);
    return value;
  }
  /// A count of things of at least one byte each. @throws CorruptError when more than what is left
  [[nodiscard]] std::uint64_t count();
  /// Bytes of the body that are still to be read.
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  /// @throws CorruptError for a row that does not exist or whose handle is not valid
  [[nodiscard]] shm::Block block(std::uint32_t row);
  /// A descriptor that came along, once each. @throws CorruptError when there is none of this index
  [[nodiscard]] int descriptor(std::uint32_t index);
  [[nodiscard]] Tensor tensor();
  /// @throws CorruptError when bytes of the body are left over
  void finish() const;
  /// The numbers that stand for descriptor 0, 1, ... of this message.
  void set_descriptors(std::span<const int> numbers);

 private:
  [[noreturn]] void truncated(std::size_t wanted) const;

  Header header_;
  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  const std::byte* table_;
  /// A row of the table, taken out or not.
  struct Row {
    shm::Block block;
    bool received = false;
  };
  [[nodiscard]] Row& row_at(std::uint32_t row);
  [[nodiscard]] bool received(std::uint32_t row) const noexcept;

  std::array<Row, 4> few_;  // the rows of a message with up to four, so that it allocates nothing
  std::vector<Row> many_;   // those of one with more
  std::vector<int> descriptors_;
};

/// Gives back what a message refers to, without reading its body. Ignores a damaged one.
void discard(std::span<const std::byte> message) noexcept;

/// Whether a gradient that exists goes along with its tensor (default: yes). One switch per
/// process; torch.multiprocessing drops gradients, as its code (not its notes) says.
void set_share_grad(bool on) noexcept;
[[nodiscard]] bool share_grad() noexcept;

}  // namespace plab::mp::wire
