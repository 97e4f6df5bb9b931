#pragma once
// SPDX-License-Identifier: Apache-2.0
// What the simulated machine is made of: devices, their memory and the links between them. Every
// figure is a model's; docs/device.md names its source.

#include <cstdint>
#include <string>
#include <vector>

namespace plab::device::sim {

struct DeviceModel {
  std::string name;
  std::uint64_t memory = 0;  ///< bytes
  double memory_gbps = 0;    ///< of its own memory, in 1e9 bytes a second
  double tflops = 0;         ///< float32, in 1e12 operations a second
  int multiprocessors = 0;
  int compute_major = 0;
  int compute_minor = 0;
};

/// What stands in the place of the driver.
enum class Driver : std::uint8_t {
  kThere,
  kNone,  ///< no libcuda.so.1: every call is 35
  kStub,  ///< the toolkit's stub in its place: every call is 34
};

struct Profile {
  std::string name;
  Driver driver = Driver::kThere;
  std::vector<DeviceModel> devices;
  double host_to_device_gbps = 0;  ///< from pinned memory
  double device_to_host_gbps = 0;
  double pageable_gbps = 0;  ///< through the driver's staging buffer, either way
  double pinning_gbps = 0;   ///< page-locking
  double peer_gbps = 0;      ///< between two devices, one way
  bool peer_direct = false;  ///< without going through the host
  double launch_us = 0;      ///< host: to enqueue a kernel
  double copy_us = 0;        ///< host: to enqueue a copy
  double wait_us = 0;        ///< host: from the end of the work to the return of the wait
  double start_us = 0;       ///< device: from the engine being free to the first byte
};

/// A built-in profile (pcie5x4, laptop, h200x8, nodevice, nodriver, stub) or a TOML file, whose
/// name has a dot or a slash.
/// @throws ContractError for an unknown name, and for a file: with its line and what is valid there
[[nodiscard]] Profile load_profile(const std::string& name);

}  // namespace plab::device::sim
