// SPDX-License-Identifier: Apache-2.0
#include "plab/mp/throw_trace.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <typeinfo>

#include "plab/base/error.h"

namespace plab::mp {

namespace {

constexpr int kMaxFrames = 48;

struct Thrown {
  const void* object = nullptr;
  std::array<void*, kMaxFrames> frames{};
  int count = 0;
};

// The last few throws of a thread: a destructor or handler that throws and catches in between must
// not push out the one that matters.
constexpr std::size_t kKept = 4;
thread_local std::array<Thrown, kKept> kept_throws;
thread_local std::size_t next_throw = 0;
constinit std::atomic<bool> keeping{false};

std::string frame_text(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return fmt::format("{}", address);
  const std::string path(info.dli_fname);
  const std::string module = path.substr(path.rfind('/') + 1);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (info.dli_sname == nullptr) {
    return fmt::format("? +{:#x} ({})", at - reinterpret_cast<std::uintptr_t>(info.dli_fbase),
                       module);
  }
  return fmt::format("{} +{:#x} ({})", demangle(info.dli_sname),
                     at - reinterpret_cast<std::uintptr_t>(info.dli_saddr), module);
}

void keep_stack(const void* object) noexcept {
  Thrown& thrown = kept_throws[next_throw++ % kKept];
  thrown.object = object;
  thrown.count = backtrace(thrown.frames.data(), kMaxFrames);
}

}  // namespace

void keep_throw_stacks() noexcept { keeping.store(true); }

std::vector<std::string> throw_stack(const void* object) {
  std::vector<std::string> lines;
  for (const auto& thrown : kept_throws) {
    if (object == nullptr || thrown.object != object) continue;
    constexpr int kOurs = 2;  // keep_stack and __cxa_throw
    for (int i = kOurs; i < thrown.count; ++i) {
      lines.push_back(frame_text(thrown.frames[static_cast<std::size_t>(i)]));
    }
    break;
  }
  return lines;
}

}  // namespace plab::mp

// The linker finds this one before the runtime's, which it calls. (The compiler knows the second
// parameter, a std::type_info, as void*.)
extern "C" [[noreturn]] __attribute__((noinline)) void __cxa_throw(void* object, void* type,
                                                                   void (*destroy)(void*)) {
  using Throw = void (*)(void*, void*, void (*)(void*));
  static const auto next = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
  if (plab::mp::keeping.load(std::memory_order_relaxed)) plab::mp::keep_stack(object);
  next(object, type, destroy);
  std::abort();  // never reached: the runtime's function does not return
}
