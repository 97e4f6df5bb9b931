// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/connection.h"

#include <array>
#include <cstring>

#include "plab/os/pipe.h"
#include "plab/os/socket.h"

namespace plab::mp {

namespace {

/// The start of each message on the socket.
struct Frame {
  std::uint64_t magic;
  std::uint64_t bytes;
};
constexpr std::uint64_t kFrameMagic = 0x454d415246424c50;
// A message is read in pieces of at most this size, so that a false length takes no memory.
constexpr std::size_t kPiece = std::size_t{1} << 20U;

[[noreturn]] void ended_within(std::size_t have, std::size_t want) {
  throw EndOfFile(
      fmt::format("[mp.connection] the other end was closed within a message: {} of {} bytes came",
                  have, want));
}

}  // namespace

int Connection::descriptor() const {
  if (socket_) return socket_.get();
  throw ContractError("[mp.connection] this end is closed (or was moved away)");
}

bool Connection::poll(Deadline deadline, std::source_location where) const {
  if (os::wait_ready(descriptor(), os::Ready::kReadable, Deadline::passed())) return true;
  if (deadline.ns() == 0) return false;
  const shm::WaitSite site{shm::WaitKind::kRecv, this, where};
  shm::WaitScope scope(site, deadline);
  if (!shm::WaitScope::watched()) {
    return os::wait_ready(descriptor(), os::Ready::kReadable, deadline);
  }
  for (;;) {
    scope.look();
    if (os::wait_ready(descriptor(), os::Ready::kReadable, Deadline::passed())) return true;
    if (deadline.expired()) return false;
    scope.looked();
    const Deadline slice = deadline.min(Deadline::after(shm::kLookAgain));
    if (os::wait_ready(descriptor(), os::Ready::kReadable, slice)) return true;
  }
}

bool Connection::send_frame(std::span<const std::byte> bytes, Deadline deadline) {
  if (!writable_) {
    throw ContractError("[mp.connection] this end only receives; send with the other one");
  }
  const Frame frame{kFrameMagic, bytes.size()};
  // A short message goes in one piece, so that it costs one system call.
  std::array<std::byte, 4096> small;
  const bool fits = bytes.size() <= small.size() - sizeof frame;
  std::memcpy(small.data(), &frame, sizeof frame);
  if (fits && !bytes.empty()) std::memcpy(small.data() + sizeof frame, bytes.data(), bytes.size());
  const auto first =
      std::span<const std::byte>(small).first(fits ? sizeof frame + bytes.size() : sizeof frame);
  try {
    if (os::send_message(descriptor(), first, {}, deadline) != os::SendResult::kSent) return false;
    if (!fits) os::write_full(descriptor(), bytes, deadline);
  } catch (const TimeoutError&) {
    close();  // the rest of the message will never come
    throw;
  }
  return true;
}

std::optional<std::vector<std::byte>> Connection::recv_frame(Deadline deadline) {
  if (!readable_) {
    throw ContractError("[mp.connection] this end only sends; receive with the other one");
  }
  if (!poll(deadline)) return std::nullopt;
  try {
    Frame frame{};
    const auto into = std::as_writable_bytes(std::span(&frame, 1));
    const std::size_t head = os::read_full(descriptor(), into, deadline);
    if (head == 0) {
      throw EndOfFile(
          "[mp.connection] nothing more will come: the other end is closed, or its process is "
          "dead");
    }
    if (head != sizeof frame) ended_within(head, sizeof frame);
    if (frame.magic != kFrameMagic) {
      close();
      throw CorruptError(
          fmt::format("[mp.connection] {:#x} is not the start of a message", frame.magic));
    }
    std::vector<std::byte> bytes;
    while (bytes.size() < frame.bytes) {
      const std::size_t have = bytes.size();
      bytes.resize(have + std::min<std::uint64_t>(frame.bytes - have, kPiece));
      const auto piece = std::span(bytes).subspan(have);
      const std::size_t got = os::read_full(descriptor(), piece, deadline);
      if (got != piece.size()) ended_within(have + got, frame.bytes);
    }
    return bytes;
  } catch (const TimeoutError&) {
    close();
    throw;
  }
}

void Connection::save(wire::Writer& out) const {
  out.encoder().number(out.encoder().descriptor(descriptor()));
  out(readable_, writable_);
}

void Connection::load(wire::Reader& in) {
  socket_ = os::UniqueFd(in.decoder().descriptor(in.decoder().number<std::uint32_t>()));
  in(readable_, writable_);
}

std::pair<Connection, Connection> Pipe(Duplex duplex) {
  os::SocketPair sockets = os::create_socket_pair();
  const bool both = duplex == Duplex::kYes;
  return {Connection(std::move(sockets.first), true, both),
          Connection(std::move(sockets.second), both, true)};
}

}  // namespace plab::mp
