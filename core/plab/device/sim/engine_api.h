#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the libraries on top of the simulated runtime (kernels, cuBLAS, NCCL) may ask of it.

#include <cstddef>
#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>

namespace plab::device::sim {

/// Which part of the device an operation keeps busy, one operation at a time each.
enum class Engine : std::uint8_t { kCompute, kCopyIn, kCopyOut, kPeer, kNone };

/// What an operation is modelled to take: overhead + bytes / bandwidth of device memory (or of the
/// link, for a copy), or the time of its arithmetic when that is longer.
struct Cost {
  double overhead_us = 2;
  double bytes = 0;
  double flops = 0;
  double fixed_us = -1;  ///< not negative: exactly this long
};

/// Whether the body dereferences device pointers as the program has them (a kernel), so that they
/// have to be opened around it; or only uses addresses that engine_address() gave.
enum class Touches : std::uint8_t { kProgramAddresses, kEngineAddresses };

struct Work {
  const char* label = "kernel";
  Engine engine = Engine::kCompute;
  Touches touches = Touches::kEngineAddresses;
  Cost cost{};
  /// Runs in the stream's own thread, in stream order. What it returns, when not cudaSuccess, is
  /// the context's error from then on. It may block (a collective waits for its peers): then it is
  /// to look at cancelled() at least every 100 ms and give up.
  std::function<cudaError_t()> body;
};

/// Enqueues. Errors are those of a kernel launch: a stream of another device is 400, a dead context
/// its sticky code. Not recorded as the thread's last error: record_error() does that.
cudaError_t launch(cudaStream_t stream, Work work);

/// Makes `error` this thread's last error and returns it. cudaSuccess changes nothing.
cudaError_t record_error(cudaError_t error);

/// cudaSuccess, or why no call can work: 3 in the child of a process that used the device, 35 or
/// 100 without devices, the sticky error of the current context. Starts the runtime at the first
/// call.
cudaError_t enter();

/// The address under which an executor reaches the device or pinned memory at `pointer`: never
/// faults for `bytes` bytes. Null when that is not memory of a device or pinned.
void* engine_address(const void* pointer, std::size_t bytes);
/// The ordinal of the device that `pointer` lies on; -1: host memory or unknown.
int device_of(const void* pointer);
/// The device that is current in this thread, and the physical one behind an ordinal (they differ
/// with CUDA_VISIBLE_DEVICES).
int current_device();
int physical_device(int ordinal);
/// Gigabytes per second between two devices, as the profile says; `direct` (may be null): without
/// going through the host.
double link_gbps(int device, int peer, bool* direct);

/// Inside a body: the context died or the process is about to end, and the body must return.
bool cancelled();
/// Inside a body: the virtual time at which it started, and a later end than its cost says.
double now_us();
void advance_to_us(double time_us);

/// The virtual time of this host thread, in microseconds; host_work() lets it pass (and, with the
/// clock "real", sleeps so long).
double host_now_us();
void host_work(double us);

/// A word about the simulation itself on stderr: "[device.sim] ...".
void report(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace plab::device::sim
