// SPDX-License-Identifier: Apache-2.0
// Tensors in messages: what goes along, and what a receiver must not believe.
#include <atomic>

#include "plab/base/error.h"
#include "plab/base/log.h"
#include "plab/mp/wire.h"
#include "plab/tensor/autograd.h"
#include "plab/tensor/tensor.h"

namespace plab::mp::wire {

namespace {

std::atomic<bool> grads_travel{true};

enum Flag : std::uint8_t { kDefined = 1, kRequiresGrad = 2, kHasGrad = 4, kAllFlags = 7 };

__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): __extension__ needs it

struct Record {
  std::uint32_t row;
  std::uint8_t dtype;
  std::uint8_t dims;
  std::uint8_t flags;
  std::uint8_t zero;
  std::int64_t offset;          // in elements
  std::uint64_t storage_bytes;  // of the whole storage
};
static_assert(sizeof(Record) == 24);

[[noreturn]] void bad_tensor(const Record& record, std::string_view problem) {
  throw CorruptError(
      fmt::format("[mp.wire] a tensor of the message is not valid: {} (dtype {}, {} dimensions, "
                  "offset {}, storage of {} bytes)",
                  problem, record.dtype, record.dims, record.offset, record.storage_bytes));
}

/// That every element lies inside the storage. The sum cannot overflow: each factor is checked
/// first.
void check_extent(const Record& record, const Shape& sizes, const Shape& strides) {
  constexpr Wide kLimit = Wide{1} << 60U;
  const auto item = static_cast<Wide>(item_size(static_cast<DType>(record.dtype)));
  Wide count = 1;
  Wide lowest = record.offset;
  Wide highest = record.offset;
  bool empty = false;
  for (std::size_t i = 0; i < sizes.dims(); ++i) {
    if (sizes[i] < 0) bad_tensor(record, fmt::format("size {} of dimension {}", sizes[i], i));
    if (sizes[i] == 0) empty = true;
    count *= sizes[i] == 0 ? 1 : sizes[i];
    if (count > kLimit) bad_tensor(record, "the sizes overflow");
    const Wide reach = Wide{sizes[i] - 1} * strides[i];
    (reach < 0 ? lowest : highest) += reach;
  }
  if (record.offset < 0) bad_tensor(record, "a negative offset");
  const Wide have = static_cast<Wide>(record.storage_bytes);
  if (empty ? Wide{record.offset} * item > have : lowest < 0 || (highest + 1) * item > have) {
    bad_tensor(record,
               fmt::format("sizes {} with strides {} reach outside", sizes.str(), strides.str()));
  }
}

Shape read_shape(Decoder& in, std::size_t dims) {
  std::array<std::int64_t, Shape::kMaxDims> values{};
  // One by one: a copy of unknown length costs more than these few.
  for (std::size_t i = 0; i < dims; ++i) values[i] = in.number<std::int64_t>();
  return Shape(std::span<const std::int64_t>(values.data(), dims));
}

void write_one(Encoder& out, const Tensor& tensor, std::uint8_t flags) {
  const Storage& storage = tensor.storage();
  if (!storage.is_shared()) Storage(storage).share_memory();  // in place: all handles see it
  Record record{};
  record.row = storage.bytes() == 0 ? kNoBlock : out.block(storage.block());
  record.dtype = static_cast<std::uint8_t>(tensor.dtype());
  record.dims = static_cast<std::uint8_t>(tensor.sizes().dims());
  record.flags = flags;
  record.offset = tensor.storage_offset();
  record.storage_bytes = storage.bytes();
  out.number(record);
  for (const std::int64_t size : tensor.sizes()) out.number(size);
  for (const std::int64_t stride : tensor.strides()) out.number(stride);
}

void check_record(const Record& record) {
  if (record.dtype > static_cast<std::uint8_t>(DType::kBF16)) bad_tensor(record, "unknown dtype");
  if (record.dims > Shape::kMaxDims) bad_tensor(record, "too many dimensions");
  if ((record.flags & ~kAllFlags) != 0 || record.zero != 0) bad_tensor(record, "unknown flags");
  const bool floating = is_floating(static_cast<DType>(record.dtype));
  if (!floating && (record.flags & (kRequiresGrad | kHasGrad)) != 0) {
    bad_tensor(record, "a gradient for a dtype that has none");
  }
}

Tensor read_one(Decoder& in, Record& record) {
  record = in.number<Record>();
  check_record(record);
  if ((record.flags & kDefined) == 0) {
    if (record.flags != 0 || record.dims != 0) bad_tensor(record, "undefined, yet with content");
    return {};
  }
  const Shape sizes = read_shape(in, record.dims);
  const Shape strides = read_shape(in, record.dims);
  check_extent(record, sizes, strides);
  const shm::Block block = in.block(record.row);
  if (block.bytes() < record.storage_bytes) {
    bad_tensor(record, fmt::format("its memory has {} bytes", block.bytes()));
  }
  Storage storage = block ? Storage::adopt(block) : Storage::heap(0);
  try {
    return Tensor::view_of(std::move(storage), static_cast<DType>(record.dtype), sizes, strides,
                           record.offset);
  } catch (const ContractError& problem) {  // its rules are stricter for tensors without elements
    bad_tensor(record, problem.what());
  }
}

}  // namespace

void set_share_grad(bool on) noexcept { grads_travel.store(on); }
bool share_grad() noexcept { return grads_travel.load(std::memory_order_relaxed); }

void Encoder::tensor(const Tensor& tensor) {
  if (!tensor.defined()) {
    Record nothing{};
    nothing.row = kNoBlock;
    number(nothing);
    return;
  }
  std::uint8_t flags = kDefined;
  Tensor grad;
  if (const AutogradMeta* meta = tensor.autograd()) {
    if (tensor.requires_grad() && !tensor.is_leaf()) {
      throw ContractError(
          "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does "
          "not cross process boundaries: a history stays in its process. If you just want to send "
          "the data, call detach() on the tensor before you send it.");
    }
    if (!meta->hooks.empty()) {
      log::warning("[mp.wire] a tensor with {} gradient hooks is sent; hooks stay in this process",
                   meta->hooks.size());
    }
    if (tensor.requires_grad()) flags |= kRequiresGrad;
    if (share_grad()) grad = tensor.grad();
    if (grad.defined()) flags |= kHasGrad;
  }
  write_one(*this, tensor, flags);
  if (grad.defined()) write_one(*this, grad, kDefined);
}

Tensor Decoder::tensor() {
  Record record;
  Tensor tensor = read_one(*this, record);
  if ((record.flags & kRequiresGrad) != 0) tensor.requires_grad_(true);
  if ((record.flags & kHasGrad) != 0) {
    Record grad_record;
    const Tensor grad = read_one(*this, grad_record);
    if (grad_record.flags != kDefined || !(grad.sizes() == tensor.sizes()) ||
        grad.dtype() != tensor.dtype()) {
      bad_tensor(grad_record, "a gradient that does not fit its tensor");
    }
    tensor.set_grad(grad);
  }
  return tensor;
}

}  // namespace plab::mp::wire
