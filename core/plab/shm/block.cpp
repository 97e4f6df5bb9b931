// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/block.h"

#include "plab/base/error.h"
#include "plab/shm/registry.h"
#include "plab/shm/shared.h"
#include "plab/shm/strategy.h"

namespace plab::shm {

Block::Block(const Block& other) noexcept : ref_(other.ref_) {
  if (ref_ != nullptr) ref_->count.fetch_add(1, std::memory_order_relaxed);
}

Block::~Block() {
  if (ref_ != nullptr) Registry::instance().release(ref_);
}

Block Block::allocate(Bytes size, BlockKind kind, Fill fill) {
  if (static_cast<std::uint32_t>(kind) >= kBlockKinds) {
    throw ContractError(
        fmt::format("[shm.block] there is no kind {} of block", static_cast<std::uint32_t>(kind)));
  }
  if (size.count == 0) return {};
  return Block(Registry::instance().allocate(size.count, kind, fill));
}

Block Block::allocate_named(Bytes size) {
  if (size.count == 0) return {};
  return Block(Registry::instance().allocate_named(size.count));
}

Block Block::allocate_shared(Bytes size, Fill fill) {
  return sharing_strategy() == Strategy::kFileSystem ? allocate_named(size)
                                                     : allocate(size, BlockKind::kPlain, fill);
}

namespace {
// True for the handle of an empty block. @throws CorruptError for one that is only partly empty
bool is_empty(const Handle& handle) {
  if (handle == Handle{}) return true;
  if (handle.arena == 0 || handle.bytes == 0) {
    throw CorruptError(
        fmt::format("[shm.block] handle (arena {:016x}, offset {}, {} bytes, block {}, generation "
                    "{}) is not valid: neither empty nor a block",
                    handle.arena, handle.offset, handle.bytes, handle.block, handle.generation));
  }
  return false;
}
}  // namespace

Block Block::receive(const Handle& handle) {
  if (is_empty(handle)) return {};
  return Block(Registry::instance().receive(handle));
}

void Block::discard(const Handle& handle) {
  if (!is_empty(handle)) Registry::instance().discard(handle);
}

Handle Block::send() const {
  if (ref_ == nullptr) return {};
  if (ref_->segment) {
    ref_->segment->add_in_flight();
  } else if (!ref_->use->arena->add_in_flight(ref_->handle.block)) {
    throw ResourceError(fmt::format(
        "[shm.block] {} messages with block {} of arena {:016x} are under way, the most "
        "that are counted; let the receivers catch up",
        kMostInFlight, ref_->handle.block, ref_->handle.arena));
  }
  return ref_->handle;
}

std::byte* Block::data() const noexcept { return ref_ == nullptr ? nullptr : ref_->data; }
std::size_t Block::bytes() const noexcept { return ref_ == nullptr ? 0 : ref_->bytes; }
BlockKind Block::kind() const noexcept { return ref_ == nullptr ? BlockKind::kPlain : ref_->kind; }
Handle Block::handle() const noexcept { return ref_ == nullptr ? Handle{} : ref_->handle; }
bool Block::is_named() const noexcept { return ref_ != nullptr && ref_->segment.has_value(); }
std::string Block::name() const {
  return is_named() ? ref_->segment->name().text() : std::string();
}

namespace detail {

std::uint64_t type_number(const std::type_info& type) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: the same in every process of a program
  for (const char* c = type.name(); *c != '\0'; ++c) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
  }
  return hash;
}

void check_shared(const Block& block, const std::type_info& type, std::size_t size) {
  if (block.kind() != BlockKind::kSync || block.bytes() != kSharedOffset + size ||
      *std::launder(reinterpret_cast<const std::uint64_t*>(block.data())) != type_number(type)) {
    throw CorruptError(fmt::format(
        "[shm.shared] a block of kind {} with {} bytes does not hold a {} of {} bytes",
        static_cast<std::uint32_t>(block.kind()), block.bytes(), demangle(type.name()), size));
  }
}

}  // namespace detail

}  // namespace plab::shm
