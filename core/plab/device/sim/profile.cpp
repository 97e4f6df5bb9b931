// SPDX-License-Identifier: Apache-2.0
#include "plab/device/sim/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "plab/base/error.h"

namespace plab::device::sim {

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr int kMostDevices = 16;

DeviceModel model(const char* name, double gib, double memory_gbps, double tflops, int units,
                  int major, int minor) {
  return {name, static_cast<std::uint64_t>(gib * kGiB), memory_gbps, tflops, units, major, minor};
}

Profile pcie5x4() {
  Profile made;
  made.name = "pcie5x4";
  made.devices.assign(4, model("Simulated PCIe GPU 24 GiB", 24, 1000, 80, 128, 9, 0));
  made.host_to_device_gbps = 55.6;
  made.device_to_host_gbps = 55.6;
  made.pageable_gbps = 8;
  made.pinning_gbps = 1.5;
  made.peer_gbps = 40;
  made.peer_direct = true;
  made.launch_us = 4;
  made.copy_us = 2.8;
  made.wait_us = 10;
  made.start_us = 2;
  return made;
}

Profile laptop() {
  Profile made = pcie5x4();
  made.name = "laptop";
  made.devices.assign(1, model("Simulated laptop GPU 8 GiB", 8, 380, 20, 36, 8, 9));
  made.host_to_device_gbps = 12;
  made.device_to_host_gbps = 12;
  made.pageable_gbps = 3;
  made.peer_direct = false;
  return made;
}

Profile h200x8() {
  Profile made = pcie5x4();
  made.name = "h200x8";
  made.devices.assign(8, model("Simulated H200", 141, 4800, 67, 132, 9, 0));
  made.peer_gbps = 380;
  return made;
}

Profile without(const char* name, Driver driver) {
  Profile made = pcie5x4();
  made.name = name;
  made.driver = driver;
  made.devices.clear();
  return made;
}

/// Takes the keys of a table one by one; what is left over is not known.
class Reader {
 public:
  Reader(const std::string& file, const toml::table& table) : file_(file), table_(table) {}

  void number(std::string_view key, double low, double high, double& into) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto value = node->value<double>();
    if (!value || !std::isfinite(*value) || *value < low || *value > high) {
      fail(*node, fmt::format("{} has to be a number from {} to {}", key, low, high));
    }
    into = *value;
  }
  void truth(std::string_view key, bool& into) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<bool>();
    if (!value) fail(*node, fmt::format("{} has to be true or false", key));
    into = *value;
  }
  void text(std::string_view key, std::string& into) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<std::string>();
    if (!value) fail(*node, fmt::format("{} has to be a text in quotes", key));
    into = *value;
  }
  void end() const {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(taken_, key.str()) != taken_.end()) continue;
      fail(node,
           fmt::format("{} is not known here; known are {}", key.str(), fmt::join(taken_, ", ")));
    }
  }

 private:
  const toml::node* take(std::string_view key) {
    taken_.emplace_back(key);
    return table_.get(key);
  }
  [[noreturn]] void fail(const toml::node& node, const std::string& problem) const {
    throw ContractError(
        fmt::format("[device.profile] {}:{}: {}", file_, node.source().begin.line, problem));
  }

  const std::string& file_;
  const toml::table& table_;
  std::vector<std::string> taken_;
};

Profile read_file(const std::string& file) {
  toml::table root;
  try {
    root = toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    throw ContractError(fmt::format("[device.profile] {}:{}: {}", file, error.source().begin.line,
                                    error.description()));
  }
  Profile made = pcie5x4();
  double devices = 4;
  double gib = 24;
  double units = 128;
  DeviceModel device = made.devices.front();
  made.name = file;
  Reader reader(file, root);
  reader.text("name", device.name);
  reader.number("devices", 0, kMostDevices, devices);
  reader.number("memory_gib", 1.0 / 64, 1024, gib);
  reader.number("memory_gbps", 1, 1e6, device.memory_gbps);
  reader.number("tflops", 1e-3, 1e6, device.tflops);
  reader.number("multiprocessors", 1, 1e4, units);
  reader.number("host_to_device_gbps", 1e-3, 1e6, made.host_to_device_gbps);
  reader.number("device_to_host_gbps", 1e-3, 1e6, made.device_to_host_gbps);
  reader.number("pageable_gbps", 1e-3, 1e6, made.pageable_gbps);
  reader.number("pinning_gbps", 1e-3, 1e6, made.pinning_gbps);
  reader.number("peer_gbps", 1e-3, 1e6, made.peer_gbps);
  reader.truth("peer_direct", made.peer_direct);
  reader.number("launch_us", 0, 1e6, made.launch_us);
  reader.number("copy_us", 0, 1e6, made.copy_us);
  reader.number("wait_us", 0, 1e6, made.wait_us);
  reader.number("start_us", 0, 1e6, made.start_us);
  reader.end();
  device.memory = static_cast<std::uint64_t>(gib * kGiB);
  device.multiprocessors = static_cast<int>(units);
  made.devices.assign(static_cast<std::size_t>(devices), device);
  return made;
}

}  // namespace

Profile load_profile(const std::string& name) {
  if (name == "pcie5x4") return pcie5x4();
  if (name == "laptop") return laptop();
  if (name == "h200x8") return h200x8();
  if (name == "nodevice") return without("nodevice", Driver::kThere);
  if (name == "nodriver") return without("nodriver", Driver::kNone);
  if (name == "stub") return without("stub", Driver::kStub);
  if (name.find_first_of("./") != std::string::npos) return read_file(name);
  throw ContractError(fmt::format(
      "[device.profile] PLAB_SIM_PROFILE={} is not known; give pcie5x4, laptop, h200x8, nodevice, "
      "nodriver, stub or the path of a TOML file",
      name));
}

}  // namespace plab::device::sim
