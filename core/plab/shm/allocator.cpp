// SPDX-License-Identifier: Apache-2.0
#include "plab/shm/allocator.h"

#include <algorithm>
#include <bit>

namespace plab::shm {

namespace {
constexpr std::uint64_t kLine = 64;
// Blocks under a page are cut from runs of this.
constexpr std::uint64_t kSmallRun = std::uint64_t{64} * 1024;
}  // namespace

std::uint64_t block_size(std::uint64_t bytes) noexcept {
  if (bytes <= kLine) return kLine;
  const std::uint64_t step = std::bit_floor(bytes - 1) / 4;
  const std::uint64_t rounded = step == 0 ? bytes : (bytes + step - 1) / step * step;
  const std::uint64_t unit = rounded > kPage - 512 ? kPage : kLine;
  return (rounded + unit - 1) / unit * unit;
}

std::size_t size_class(std::uint64_t size) noexcept {
  // 2^k * (4..7) / 4: k and which of the four
  const auto k = static_cast<unsigned>(std::bit_width(size) - 1);
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): size is kLine at least
  return std::size_t{4} * k + ((size >> (k - 2)) & 3U);
}

Allocator::Allocator(std::shared_ptr<Arena> arena)
    : arena_(std::move(arena)), cursor_(arena_->data_at()) {}

bool Allocator::is_cached(const Local& local) const noexcept {
  return local.dirty && local.size >= kPage;
}

std::optional<std::uint32_t> Allocator::pop(std::size_t list) noexcept {
  const std::uint32_t head = heads_[list];
  if (head == 0) return std::nullopt;
  Local& local = local_[head - 1];
  heads_[list] = local.next;
  if (is_cached(local)) cached_ -= local.size;
  return head - 1;
}

std::optional<std::uint32_t> Allocator::carve(std::uint64_t size) {
  const auto block = static_cast<std::uint32_t>(local_.size());
  if (block == arena_->capacity()) return std::nullopt;
  std::uint64_t* cursor = &cursor_;
  std::uint64_t end = arena_->bytes();
  if (size < kPage) {
    if (small_end_ - small_cursor_ < size) {
      const std::uint64_t run = std::min(kSmallRun, arena_->bytes() - cursor_);
      if (run < size) return std::nullopt;
      small_cursor_ = cursor_;
      small_end_ = cursor_ + run;
      cursor_ = small_end_;
    }
    cursor = &small_cursor_;
    end = small_end_;
  }
  if (size > end - *cursor) return std::nullopt;
  local_.push_back({.size = size});
  arena_->entry(block).offset = *cursor;
  *cursor += size;
  arena_->header().block_top.store(block + 1);
  return block;
}

std::optional<Allocator::Piece> Allocator::take(std::uint64_t bytes, BlockKind kind,
                                                std::uint64_t most) {
  arena_->slot();  // may throw: before anything is taken
  take_returned();
  const std::uint64_t size = block_size(bytes);
  std::optional<std::uint32_t> block = pop(size_class(size));
  if (!block) block = carve(size);
  for (std::uint64_t larger = size; !block && larger < most;) {
    larger = block_size(larger + 1);
    if (larger <= most) block = pop(size_class(larger));
  }
  if (!block) return std::nullopt;
  Local& local = local_[*block];
  const Piece piece{*block, local.dirty, !local.dirty};
  local.given_out = true;
  local.dirty = true;
  BlockEntry& e = arena_->entry(*block);
  e.bytes = bytes;
  e.kind = kind;
  arena_->set_bit(*block);  // before the state: a sweep frees used blocks that nobody holds
  BlockWord word = BlockWord::unpack(e.word.load());
  word = {BlockState::kUsed, 0, 0, (word.generation + 1) & 0xffffffU};
  if (word.generation == 0) word.generation = 1;
  e.word.store(word.pack());
  return piece;
}

void Allocator::put(std::uint32_t block) noexcept {
  Local& local = local_[block];
  local.given_out = false;
  if (is_cached(local)) {
    if (cached_ + local.size > kCacheLimit && arena_->punch(block, local.size)) {
      local.dirty = false;
    } else {
      cached_ += local.size;
    }
  }
  const std::size_t list = size_class(local.size);
  local.next = heads_[list];
  heads_[list] = block + 1;
}

void Allocator::take_word(std::uint32_t leaf) noexcept {
  std::uint64_t bits = arena_->header().returned[leaf].exchange(0);
  for (; bits != 0; bits &= bits - 1) {
    const std::uint32_t block = leaf * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    // A bit may be late (the scan was quicker) or false (a damaged arena).
    if (block < local_.size() && local_[block].given_out && arena_->is_free(block)) put(block);
  }
}

void Allocator::take_returned() noexcept {
  ArenaHeader& h = arena_->header();
  if (h.top.load() == 0) return;
  std::uint64_t top = h.top.exchange(0);
  for (; top != 0; top &= top - 1) {
    const auto group = static_cast<std::uint32_t>(std::countr_zero(top));
    std::uint64_t leaves = h.groups[group].exchange(0);
    for (; leaves != 0; leaves &= leaves - 1) {
      take_word(group * 64 + static_cast<std::uint32_t>(std::countr_zero(leaves)));
    }
  }
}

void Allocator::scan() noexcept {
  for (std::uint32_t block = 0; block < local_.size(); ++block) {
    if (local_[block].given_out && arena_->is_free(block)) put(block);
  }
}

void Allocator::trim() noexcept {
  for (std::uint32_t block = 0; block < local_.size(); ++block) {
    Local& local = local_[block];
    if (local.given_out || !is_cached(local)) continue;
    if (!arena_->punch(block, local.size)) continue;
    local.dirty = false;
    cached_ -= local.size;
  }
}

}  // namespace plab::shm
