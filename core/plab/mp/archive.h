#pragma once
// SPDX-License-Identifier: Apache-2.0
// Typed values in messages: cereal archives over wire.h, and the concept Travels that says what can
// go to another process. A user's type travels when it has cereal's `serialize` (or `save` and
// `load`), can be default-constructed and moved:
//
//   struct Sample {
//     int index;
//     plab::Tensor image;
//     template <class Archive>
//     void serialize(Archive& archive) { archive(index, image); }
//   };
//
// Polymorphic pointers (CEREAL_REGISTER_TYPE) are not registered with these archives.

#include <cereal/cereal.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/chrono.hpp>
#include <cereal/types/complex.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/unordered_set.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>
#include <concepts>
#include <functional>
#include <type_traits>

#include "plab/base/error.h"
#include "plab/mp/wire.h"
#include "plab/tensor/tensor.h"

namespace plab::mp::wire {

/// cereal's output archive over an Encoder.
class Writer : public cereal::OutputArchive<Writer, cereal::AllowEmptyClassElision> {
 public:
  explicit Writer(Encoder& encoder)
      : cereal::OutputArchive<Writer, cereal::AllowEmptyClassElision>(this), encoder_(encoder) {}
  [[nodiscard]] Encoder& encoder() noexcept { return encoder_; }
  void enter() {
    if (++depth_ > kMaxDepth) {
      throw ContractError(fmt::format("[mp.wire] a value is nested deeper than {}", kMaxDepth));
    }
  }
  void leave() noexcept { --depth_; }

 private:
  Encoder& encoder_;
  int depth_ = 0;
};

/// cereal's input archive over a Decoder.
class Reader : public cereal::InputArchive<Reader, cereal::AllowEmptyClassElision> {
 public:
  explicit Reader(Decoder& decoder)
      : cereal::InputArchive<Reader, cereal::AllowEmptyClassElision>(this), decoder_(decoder) {}
  [[nodiscard]] Decoder& decoder() noexcept { return decoder_; }
  void enter() {
    if (++depth_ > kMaxDepth) {
      throw CorruptError(fmt::format("[mp.wire] a value is nested deeper than {}", kMaxDepth));
    }
  }
  void leave() noexcept { --depth_; }

 private:
  Decoder& decoder_;
  int depth_ = 0;
};

}  // namespace plab::mp::wire

CEREAL_SETUP_ARCHIVE_TRAITS(plab::mp::wire::Reader, plab::mp::wire::Writer)

namespace plab::mp::wire {

// --- what cereal asks of an archive -----------------------------------------------------------

template <typename T>
concept Arithmetic = std::is_arithmetic_v<T>;

template <Arithmetic T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& out, const T& value) {
  out.encoder().number(value);
}
template <Arithmetic T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& in, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto byte = in.decoder().number<std::uint8_t>();
    if (byte > 1) throw CorruptError(fmt::format("[mp.wire] a bool with the value {}", byte));
    value = byte == 1;
  } else {
    value = in.decoder().number<T>();
  }
}
template <typename T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& out, const cereal::BinaryData<T>& data) {
  out.encoder().bytes(data.data, static_cast<std::size_t>(data.size));
}
template <typename T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& in, cereal::BinaryData<T>& data) {
  in.decoder().bytes(data.data, static_cast<std::size_t>(data.size));
}
template <typename T>
void CEREAL_SERIALIZE_FUNCTION_NAME(Writer& out, cereal::NameValuePair<T>& pair) {
  out(pair.value);
}
template <typename T>
void CEREAL_SERIALIZE_FUNCTION_NAME(Reader& in, cereal::NameValuePair<T>& pair) {
  in(pair.value);
}
template <typename T>
void CEREAL_SERIALIZE_FUNCTION_NAME(Writer& out, cereal::SizeTag<T>& tag) {
  out.encoder().number(static_cast<std::uint64_t>(tag.size));
}
template <typename T>
void CEREAL_SERIALIZE_FUNCTION_NAME(Reader& in, cereal::SizeTag<T>& tag) {
  tag.size = static_cast<std::remove_reference_t<T>>(in.decoder().count());
}
inline void CEREAL_SAVE_FUNCTION_NAME(Writer& out, const Tensor& tensor) {
  out.encoder().tensor(tensor);
}
inline void CEREAL_LOAD_FUNCTION_NAME(Reader& in, Tensor& tensor) {
  tensor = in.decoder().tensor();
}

// The depth is counted for everything that can hold something else.
template <typename Archive, typename T>
concept Nests = (std::same_as<Archive, Writer> ||
                 std::same_as<Archive, Reader>)&&std::is_class_v<T>;
template <typename Archive, typename T>
requires Nests<Archive, T>
void prologue(Archive& archive, const T& /*value*/) { archive.enter(); }
template <typename Archive, typename T>
requires Nests<Archive, T>
void epilogue(Archive& archive, const T& /*value*/) { archive.leave(); }

// --- values -----------------------------------------------------------------------------------

/// A value to read into. A type whose default constructor does real work (a queue makes its
/// memory) says `static T unbound()`.
template <typename T>
[[nodiscard]] T make_empty() {
  if constexpr (requires {
                  { T::unbound() } -> std::same_as<T>;
                }) {
    return T::unbound();
  } else {
    return T{};
  }
}

// cereal would make `count` elements before it reads the first; these grow as the bytes come in, so
// that a small message cannot take a large memory.
template <typename Container>
void load_growing(Reader& in, Container& items) {
  const std::uint64_t count = in.decoder().count();
  items.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    items.push_back(make_empty<typename Container::value_type>());
    in(items.back());
  }
}
template <typename T, typename A>
requires(!std::is_arithmetic_v<T>) void CEREAL_LOAD_FUNCTION_NAME(Reader& in,
                                                                  std::vector<T, A>& items) {
  load_growing(in, items);
}
template <typename T, typename A>
void CEREAL_LOAD_FUNCTION_NAME(Reader& in, std::deque<T, A>& items) {
  load_growing(in, items);
}
template <typename T, typename A>
void CEREAL_LOAD_FUNCTION_NAME(Reader& in, std::list<T, A>& items) {
  load_growing(in, items);
}

namespace detail {

template <typename T>
struct Checks
    : std::bool_constant<std::is_object_v<T> && !std::is_pointer_v<T> &&
                         !std::is_member_pointer_v<T> && !std::is_array_v<T> &&
                         std::is_default_constructible_v<T> && std::is_move_constructible_v<T> &&
                         cereal::traits::is_output_serializable<T, Writer>::value &&
                         cereal::traits::is_input_serializable<T, Reader>::value> {};
template <typename T>
struct Checks<std::reference_wrapper<T>> : std::false_type {};
// cereal's own answer for a container does not ask for its elements.
template <typename T, typename A>
struct Checks<std::vector<T, A>> : Checks<T> {};
template <typename T, typename A>
struct Checks<std::deque<T, A>> : Checks<T> {};
template <typename T, typename A>
struct Checks<std::list<T, A>> : Checks<T> {};
template <typename T, std::size_t N>
struct Checks<std::array<T, N>> : Checks<T> {};
template <typename T>
struct Checks<std::optional<T>> : Checks<T> {};
template <typename T, typename D>
struct Checks<std::unique_ptr<T, D>> : Checks<T> {};
template <typename T>
struct Checks<std::shared_ptr<T>> : Checks<T> {};
template <typename A, typename B>
struct Checks<std::pair<A, B>> : std::conjunction<Checks<A>, Checks<B>> {};
template <typename... T>
struct Checks<std::tuple<T...>> : std::conjunction<Checks<T>...> {};
template <typename... T>
struct Checks<std::variant<T...>> : std::conjunction<Checks<T>...> {};
template <typename K, typename V, typename... More>
struct Checks<std::map<K, V, More...>> : std::conjunction<Checks<K>, Checks<V>> {};
template <typename K, typename V, typename... More>
struct Checks<std::unordered_map<K, V, More...>> : std::conjunction<Checks<K>, Checks<V>> {};
template <typename K, typename... More>
struct Checks<std::set<K, More...>> : Checks<K> {};
template <typename K, typename... More>
struct Checks<std::unordered_set<K, More...>> : Checks<K> {};

}  // namespace detail

}  // namespace plab::mp::wire

namespace plab::mp {

/// What can go to another process, as an argument or in a queue: numbers, enums, std::string, the
/// standard containers and smart pointers of such, Tensor, the queues, locks and Connections of
/// plab, and types with cereal's `serialize` (or `save` and `load`) and a default constructor. Raw
/// pointers, references, std::function and lambdas do not: their target is in this process alone.
template <typename T>
concept Travels = wire::detail::Checks<T>::value;

namespace wire {

namespace detail {

// A cereal archive costs more than a small message. These types do without.
template <typename T>
inline constexpr bool is_plain = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <typename T, std::size_t N>
inline constexpr bool is_plain<std::array<T, N>> = is_plain<T>;

// The message of a small plain value, without an encoder: that would cost more than the copy.
template <typename T>
inline constexpr bool is_small_plain = is_plain<T> && sizeof(T) <= 1024;
inline constexpr Header plain_header(std::size_t bytes, std::uint64_t type) noexcept {
  return {.magic = kMagic, .handles = 0, .body_bytes = bytes, .type = type, .descriptors = 0};
}
template <typename T>
using PlainMessage = std::array<std::byte, sizeof(Header) + (sizeof(T) + 7) / 8 * 8>;

template <typename T>
[[nodiscard]] PlainMessage<T> encode_plain(const T& value) noexcept {
  constexpr Header kHeader = plain_header(sizeof(T), type_id<T>());
  PlainMessage<T> message;
  std::memset(message.data() + message.size() - 8, 0, 8);  // the padding
  std::memcpy(message.data(), &kHeader, sizeof kHeader);
  std::memcpy(message.data() + sizeof kHeader, &value, sizeof value);
  return message;
}
/// False: it is not the message of a T.
template <typename T>
[[nodiscard]] bool decode_plain(std::span<const std::byte> message, T& value) noexcept {
  constexpr Header kHeader = plain_header(sizeof(T), type_id<T>());
  if (message.size() != sizeof(PlainMessage<T>) ||
      std::memcmp(message.data(), &kHeader, sizeof kHeader) != 0) {
    return false;
  }
  std::memcpy(&value, message.data() + sizeof kHeader, sizeof value);
  return true;
}

/// Writes a value without cereal, if its type is one of those. @returns whether it is
template <typename T>
constexpr bool encode_directly(Encoder& out, const T& value) {
  if constexpr (std::is_same_v<T, Tensor>) {
    out.tensor(value);
  } else if constexpr (is_plain<T>) {
    out.number(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    out.number(static_cast<std::uint64_t>(value.size()));
    out.bytes(value.data(), value.size());
  } else {
    return false;
  }
  return true;
}

/// Reads what encode_directly wrote.
template <typename T>
constexpr bool decode_directly(Decoder& in, T& value) {
  if constexpr (std::is_same_v<T, Tensor>) {
    value = in.tensor();
  } else if constexpr (is_plain<T>) {
    value = in.number<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    value.resize(static_cast<std::size_t>(in.count()));
    in.bytes(value.data(), value.size());
  } else {
    return false;
  }
  return true;
}

}  // namespace detail

/// Writes one value. Numbers, strings and tensors go straight to the encoder, the rest through
/// cereal.
/// @throws ContractError for what a type refuses (a non-leaf tensor, a closed queue)
template <Travels T>
void encode(Encoder& out, const T& value) {
  if (detail::encode_directly(out, value)) return;
  Writer writer(out);
  writer(value);
}

namespace detail {
/// Runs `read` and turns what cereal and the containers throw into a CorruptError.
template <typename Read>
auto guarded(Read&& read) {
  try {
    return read();
  } catch (const cereal::Exception& problem) {
    throw CorruptError(fmt::format("[mp.wire] the message cannot be read: {}", problem.what()));
  } catch (const std::length_error& problem) {
    throw CorruptError(fmt::format("[mp.wire] the message asks too much: {}", problem.what()));
  }
}
template <typename T>
[[nodiscard]] T read_value(Reader& reader) {
  T value = make_empty<T>();
  reader(value);
  return value;
}
}  // namespace detail

/// Reads one value, and nothing must be left.
/// @throws CorruptError for a message that is damaged or holds no T; its references are given back
template <Travels T>
[[nodiscard]] T decode(std::span<const std::byte> message) {
  Decoder in(message);
  in.expect(type_id<T>(), "the type asked for");
  return detail::guarded([&] {
    T value = make_empty<T>();
    if (!detail::decode_directly(in, value)) {
      Reader reader(in);
      reader(value);
    }
    in.finish();
    return value;
  });
}

/// Reads the arguments of a process. @throws CorruptError as decode
template <Travels... Args>
[[nodiscard]] std::tuple<Args...> decode_arguments(std::span<const std::byte> message,
                                                   std::span<const int> descriptors) {
  Decoder in(message);
  in.expect(type_id<std::tuple<Args...>>(), "the arguments of this function");
  in.set_descriptors(descriptors);
  return detail::guarded([&] {
    [[maybe_unused]] Reader reader(in);
    // Braces: the arguments are read from left to right.
    std::tuple<Args...> args{detail::read_value<Args>(reader)...};
    in.finish();
    return args;
  });
}

}  // namespace wire
}  // namespace plab::mp
