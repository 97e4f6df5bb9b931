#pragma once
// SPDX-License-Identifier: Apache-2.0
// The table of waits: one file in a folder, mapped and shared by all processes of a job. Each
// thread that waits writes a record into a slot of its own; a watcher reads them. What a process
// wrote is there after kill -9, and is then known as that of a dead one.

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "plab/os/mapping.h"
#include "plab/os/process.h"
#include "plab/shm/wait.h"

namespace plab::shm {

inline constexpr std::size_t kMostEnders = 40;

/// What a wait could end. kAnyThread: every thread of the processes in `enders` may.
enum class Enders : std::uint8_t {
  kUnknown,    ///< not known, or too many, or one more may come: never a part of a deadlock
  kThread,     ///< the thread owner_tid of owner_pid
  kCopied,     ///< nobody: the lock was copied by fork while a thread of owner_pid held it
  kProcesses,  ///< any thread of the processes in `enders`
  kJob,        ///< any thread of any process in the table
};

/// One wait, as it is in the table.
struct WaitRecord {
  std::uint64_t process = 0;  ///< ProcessIdentity::packed
  std::int32_t pid = 0;
  std::int32_t tid = 0;
  WaitKind kind = WaitKind::kOther;
  Enders enders_kind = Enders::kUnknown;
  std::uint8_t has_deadline = 0;
  std::uint8_t enders_count = 0;
  std::int32_t line = 0;
  std::int64_t since_ns = 0;
  std::int64_t looked_ns =
      0;  ///< the enders were right, and the condition did not hold, after this
  std::uint64_t object[2] = {};  ///< the same numbers in every process for the same object
  std::int32_t owner_pid = 0;
  std::int32_t owner_tid = 0;
  std::array<std::int32_t, kMostEnders> enders{};
  std::array<char, 96> file{};
  std::array<char, 64> function{};
};
static_assert(std::is_trivially_copyable_v<WaitRecord> && sizeof(WaitRecord) % 8 == 0);

/// A slot: a record behind a sequence number that is odd while it is written. 0 words: no wait.
struct WaitSlot {
  static constexpr std::size_t kWords = sizeof(WaitRecord) / 8;
  alignas(64) std::atomic<std::uint64_t> owner;  ///< pid << 32 | tid; 0: free
  std::atomic<std::uint64_t> process;            ///< packed identity of the owner
  std::atomic<std::uint64_t> sequence;           ///< +2 for each change of the record
  std::atomic<std::uint64_t> waits;              ///< number of the wait; odd: within one
  std::array<std::atomic<std::uint64_t>, kWords> words;
};

/// A process of the job.
struct WaitProcess {
  static constexpr std::size_t kPool = 16;
  std::atomic<std::uint64_t> who;  ///< packed identity; 0: free
  /// Threads that were there before plab: those of libraries (OpenBLAS), which do nothing but what
  /// the other threads ask of them. Filled in after `who`.
  std::array<std::atomic<std::int32_t>, kPool> pool;
  std::array<std::atomic<std::uint64_t>, 4> name;  ///< 32 characters
};

struct WaitTableData {
  static constexpr std::uint64_t kMagic = 0x3174'6961'7762'6c70;
  static constexpr std::size_t kSlots = 1024;
  static constexpr std::size_t kProcesses = 256;
  std::uint64_t magic;  // fixed after start
  std::array<WaitProcess, kProcesses> processes;
  std::array<WaitSlot, kSlots> slots;
};

namespace wait_table {

/// Makes the table in a folder. @throws SystemError
[[nodiscard]] os::Mapping create(const std::filesystem::path& file);
/// The table that PLAB_WATCH_TABLE names, or nullptr. Opened once; a table that cannot be opened is
/// a warning. mp::init calls it; every other first wait does too.
[[nodiscard]] WaitTableData* current() noexcept;
/// What this process is called in a verdict ("rank 1"); at most 31 characters are kept.
void name_process(const char* name) noexcept;
/// Writes a record as this thread's wait. begin: it is a new one.
void write(WaitTableData& table, const WaitRecord& record, bool begin) noexcept;
/// This thread's wait is over.
void end(WaitTableData& table) noexcept;

/// A wait as a reader sees it.
struct Seen {
  WaitRecord record;
  std::uint64_t number = 0;  ///< of the wait: another one has another
};
/// All waits of living processes.
[[nodiscard]] std::vector<Seen> read(const WaitTableData& table);
/// The entry of a process, or nullptr.
[[nodiscard]] const WaitProcess* find(const WaitTableData& table, std::uint64_t who) noexcept;
[[nodiscard]] std::string name_of(const WaitProcess& process);

}  // namespace wait_table
}  // namespace plab::shm
