#pragma once
// SPDX-License-Identifier: Apache-2.0
// The owner of a mapped range of memory.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <source_location>
#include <span>
#include <utility>

#include "plab/base/types.h"

namespace plab::os {

enum class Access { kRead, kReadWrite };
/// Whether the pages go into core files.
enum class Dump { kYes, kNo };
/// Whether a forked child has the range at all.
enum class ForkedChild { kKeeps, kLacks };

/// Owns a mapping; unmaps it when it goes.
/// @fork the child has the same range at the same address and unmaps its own; bytes of shared
/// mappings are the same memory in both. With ForkedChild::kLacks the child must not touch it.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    Mapping(std::move(other)).swap(*this);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { reset(); }

  /// Maps `size` bytes of a file or memfd from `offset` (a multiple of the page size), shared.
  /// Nothing checks that the file is that long: touching pages past its end is SIGBUS.
  /// @throws ResourceError when the address space is used up, ContractError for size 0
  [[nodiscard]] static Mapping shared(int fd, Bytes size, Access access = Access::kReadWrite,
                                      std::uint64_t offset = 0,
                                      std::source_location where = std::source_location::current());
  /// Zeroed memory that forked children share. @throws as shared()
  [[nodiscard]] static Mapping anonymous(
      Bytes size, std::source_location where = std::source_location::current());

  /// Maps a whole file of exactly `size` bytes, shared; kCreate makes it, zeroed, mode 0600, and
  /// refuses one that exists. @throws SystemError, ContractError when its size is another
  enum class File { kOpen, kCreate };
  [[nodiscard]] static Mapping file(const std::filesystem::path& path, Bytes size, File use,
                                    std::source_location where = std::source_location::current());

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] explicit operator bool() const noexcept { return data_ != nullptr; }

  /// @throws SystemError
  void set_dump(Dump dump, std::source_location where = std::source_location::current());
  void set_forked_child(ForkedChild rule,
                        std::source_location where = std::source_location::current());
  /// Gives the pages of a range back to the system; they read as zero afterwards, in every process
  /// that shares them. Only whole pages inside the range go; false when the kernel refuses.
  bool punch(std::size_t offset, std::size_t bytes) noexcept;
  /// Unmaps now.
  void reset() noexcept;
  void swap(Mapping& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// What is behind an address of this process.
struct MemoryPlace {
  bool shared = false;       ///< what a forked child writes there is seen by its parent
  std::uint64_t inode = 0;   ///< of the file or memfd; 0: none
  std::uint64_t offset = 0;  ///< in it; the same in every process that maps it
};
/// All zeros for an address that is not mapped. Reads /proc/self/maps.
/// @throws SystemError when /proc is not there
[[nodiscard]] MemoryPlace memory_place(const void* address);

/// The size of a page of memory.
[[nodiscard]] std::size_t page_size() noexcept;

}  // namespace plab::os
