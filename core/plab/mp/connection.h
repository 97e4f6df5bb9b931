#pragma once
// SPDX-License-Identifier: Apache-2.0
// Two ends of a line between two processes: multiprocessing.Pipe.

#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "plab/base/deadline.h"
#include "plab/base/error.h"
#include "plab/mp/archive.h"
#include "plab/os/unique_fd.h"
#include "plab/shm/wait.h"

namespace plab::mp {

/// Nothing will come any more: every copy of the other end is closed, or its processes are dead.
class EndOfFile : public PeerDied {
 public:
  using PeerDied::PeerDied;
};

/// One end, owned: a socket. Move it into a Process's arguments to hand it over; then this
/// process's copy is closed when the process has started, and the end of either side is seen by the
/// other.
///
/// With fork the child has copies of *all* ends that its parent had open. While such a copy of the
/// other end is open somewhere, no end of file comes.
/// @threads one thread sends and one receives at a time @fork the child has a copy of its own
class Connection {
 public:
  /// Closed.
  Connection() = default;
  explicit Connection(os::UniqueFd socket, bool readable = true, bool writable = true) noexcept
      : socket_(std::move(socket)), readable_(readable), writable_(writable) {}
  [[nodiscard]] static Connection unbound() { return {}; }

  /// Sends a value. False: the other side does not read, and nothing was sent.
  /// @blocks while the buffer is full (a message of any length needs a reader), until `deadline`
  /// @throws PeerDied when the other end is closed; TimeoutError when the deadline passes within
  /// the message (the connection is closed then); ContractError when the value refuses to travel,
  /// or for an end that only reads
  template <Travels T>
  bool send(const T& value, Deadline deadline,
            std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    wire::Encoder out;
    wire::encode(out, value);
    if (!send_frame(out.finish(wire::type_id<T>()), deadline)) return false;
    out.sent();
    return true;
  }
  /// The next value; nothing: none came until the deadline.
  /// @blocks until a message or `deadline`
  /// @throws EndOfFile; CorruptError when the message is damaged or holds another type;
  /// TimeoutError when the deadline passes within a message (the connection is closed then)
  template <Travels T>
  [[nodiscard]] std::optional<T> recv(
      Deadline deadline, std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    const auto frame = recv_frame(deadline);
    if (!frame) return std::nullopt;
    return wire::decode<T>(*frame);
  }
  /// The same for bytes that are no message of plab's.
  bool send_bytes(std::span<const std::byte> bytes, Deadline deadline,
                  std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    return send_frame(bytes, deadline);
  }
  [[nodiscard]] std::optional<std::vector<std::byte>> recv_bytes(
      Deadline deadline, std::source_location where = std::source_location::current()) {
    const shm::CallSite site(where);
    return recv_frame(deadline);
  }
  /// Whether recv would not block: a message is there, or the end.
  /// @blocks until then or `deadline`
  [[nodiscard]] bool poll(Deadline deadline,
                          std::source_location where = std::source_location::current()) const;
  void close() noexcept { socket_.reset(); }
  [[nodiscard]] bool closed() const noexcept { return !socket_; }
  /// For poll(2). @throws ContractError when closed
  [[nodiscard]] int descriptor() const;

  /// Goes along with the arguments of a process only, not through queues.
  void save(wire::Writer& out) const;
  void load(wire::Reader& in);

 private:
  bool send_frame(std::span<const std::byte> bytes, Deadline deadline);
  std::optional<std::vector<std::byte>> recv_frame(Deadline deadline);

  os::UniqueFd socket_;
  bool readable_ = true;
  bool writable_ = true;
};

enum class Duplex { kNo, kYes };

/// Two connected ends. With Duplex::kNo the first can only receive and the second only send.
/// @throws ResourceError at the descriptor limit
[[nodiscard]] std::pair<Connection, Connection> Pipe(Duplex duplex = Duplex::kYes);

}  // namespace plab::mp
