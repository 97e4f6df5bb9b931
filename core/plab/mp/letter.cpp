// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/letter.h"

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "plab/base/error.h"
#include "plab/mp/child.h"
#include "plab/mp/code_address.h"
#include "plab/os/memfd.h"

namespace plab::mp {

namespace {

constexpr std::uint64_t kLetterMagic = 0x31524554544c4c50;  // "PLLTTER1"

/// The message follows.
struct Head {
  // fixed after start
  std::uint64_t magic;
  std::uint64_t message_bytes;
  CodeAddress entry;
  CodeAddress function;
  std::uint32_t daemon;
  std::uint32_t print_errors;
  std::array<char, 64> name;
  // written once by the child (or, when that is dead, by its parent)
  std::atomic<std::uint64_t> opened;
};
static_assert(sizeof(Head) % 8 == 0 && std::atomic<std::uint64_t>::is_always_lock_free);

Head& head_of(const os::Mapping& mapping) {
  return *std::launder(reinterpret_cast<Head*>(mapping.data()));
}

std::span<const std::byte> message_of(const os::Mapping& mapping) {
  return mapping.bytes().subspan(sizeof(Head));
}

os::UniqueFd copy_of(int number) {
  os::UniqueFd borrowed(number);
  try {
    os::UniqueFd copy = borrowed.duplicate();
    (void)borrowed.release();
    return copy;
  } catch (...) {
    (void)borrowed.release();
    throw;
  }
}

/// A private copy of the message, and who this process is to be.
struct Opened {
  ChildInfo info;
  Job::Entry entry = nullptr;
  std::uintptr_t function = 0;
  std::vector<std::byte> message;
};

Opened open_letter(const os::UniqueFd& file) {
  const auto size = os::file_use(file.get()).size;
  if (size < sizeof(Head)) {
    throw CorruptError(fmt::format("[mp.spawn] the letter of a process has {} bytes", size));
  }
  const auto mapping = os::Mapping::shared(file.get(), Bytes{size});
  Head& head = head_of(mapping);
  if (head.magic != kLetterMagic || head.message_bytes != size - sizeof(Head)) {
    throw CorruptError("[mp.spawn] the letter of a process is damaged");
  }
  Opened opened;
  head.name.back() = '\0';
  opened.info = {head.name.data(), head.daemon != 0, head.print_errors != 0};
  opened.entry = reinterpret_cast<Job::Entry>(resolve(head.entry));
  opened.function = resolve(head.function);
  const auto message = message_of(mapping);
  opened.message.assign(message.begin(), message.end());
  head.opened.exchange(1);  // from here on the references are this process's
  return opened;
}

}  // namespace

Letter::Letter(const Job& job, const ChildInfo& info) {
  if (job.entry() == nullptr) {
    throw ContractError(
        "[mp.spawn] a process made with kForkOnly starts by fork only; its function and arguments "
        "cannot travel");
  }
  wire::Descriptors descriptors;
  wire::Encoder out(&descriptors);
  const std::uint64_t type = job.pack(out);
  const auto message = out.finish(type);
  file_ = os::create_memfd("plab-letter", Bytes{sizeof(Head) + message.size()});
  mapping_ = os::Mapping::shared(file_.get(), Bytes{sizeof(Head) + message.size()});
  Head& head = *new (mapping_.data()) Head{};
  head.magic = kLetterMagic;
  head.message_bytes = message.size();
  head.entry = find_code_address(reinterpret_cast<std::uintptr_t>(job.entry()));
  head.function = find_code_address(job.function());
  head.daemon = info.daemon ? 1 : 0;
  head.print_errors = info.print_errors ? 1 : 0;
  info.name.copy(head.name.data(), head.name.size() - 1);
  std::memcpy(mapping_.data() + sizeof(Head), message.data(), message.size());
  for (const int number : descriptors.numbers) {
    connections_.push_back(copy_of(number));
  }
  out.sent();  // the letter has the references now
}

std::vector<int> Letter::connections() const {
  std::vector<int> numbers;
  numbers.reserve(connections_.size());
  for (const auto& connection : connections_) numbers.push_back(connection.get());
  return numbers;
}

namespace {

/// A child that was sent a letter.
class LetterChild final : public Child {
 public:
  LetterChild(std::unique_ptr<Child> child, Letter letter)
      : child_(std::move(child)), letter_(std::move(letter)) {}
  [[nodiscard]] int pid() const noexcept override { return child_->pid(); }
  [[nodiscard]] int sentinel() const noexcept override { return child_->sentinel(); }
  [[nodiscard]] std::optional<os::ExitStatus> wait(Deadline deadline) override {
    auto status = child_->wait(deadline);
    if (status) letter_.take_back();
    return status;
  }
  void kill(int signal) override { child_->kill(signal); }

 private:
  std::unique_ptr<Child> child_;
  Letter letter_;
};

}  // namespace

std::unique_ptr<Child> child_with_letter(std::unique_ptr<Child> child, Letter letter) {
  letter.delivered();
  return std::make_unique<LetterChild>(std::move(child), std::move(letter));
}

void Letter::delivered() noexcept {
  file_.reset();
  connections_.clear();
}

void Letter::take_back() noexcept {
  if (!mapping_) return;
  if (head_of(mapping_).opened.exchange(1) == 0) wire::discard(message_of(mapping_));
  mapping_.reset();
}

void obey_letter(os::UniqueFd file, os::UniqueFd report, const Parent& parent,
                 std::span<const int> connections) noexcept {
  Opened opened;
  std::exception_ptr problem;
  try {
    opened = open_letter(file);
  } catch (...) {
    problem = std::current_exception();
    opened.info.name = "a new process";
  }
  file.reset();
  run_child(opened.info, parent, report.get(), [&] {
    if (problem != nullptr) std::rethrow_exception(problem);
    opened.entry(opened.message, connections, opened.function);
  });
}

}  // namespace plab::mp
