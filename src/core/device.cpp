#include "spinloom/core/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "spinloom/core/error.hpp"

namespace spinloom {

std::string to_string(Device device) {
  switch (device.kind) {
    case DeviceKind::reference: return "reference";
    case DeviceKind::cpu: return "cpu";
    case DeviceKind::cuda: return fmt::format("cuda:{}", device.index);
  }
  throw ArgumentError("device of an unknown kind");
}

namespace {

constexpr const char* gpu_prefix = "cuda:";

/// Reads a GPU's number from `text` on; gives where it ends, null when there is none.
const char* read_index(const char* text, const char* end, int& index) {
  const auto [stop, status] = std::from_chars(text, end, index);
  return status == std::errc() && index >= 0 && *text != '-' ? stop : nullptr;
}

}  // namespace

Device parse_device(const std::string& word) {
  if (word == "auto" || word == "cpu") return {};
  if (word == "reference") return {DeviceKind::reference, 0};
  if (word == "cuda") return {DeviceKind::cuda, 0};
  if (word.rfind(gpu_prefix, 0) == 0) {
    int index = -1;
    const char* end = word.data() + word.size();
    const char* stop = read_index(word.data() + 5, end, index);
    if (stop == end) return {DeviceKind::cuda, index};
    if (stop != nullptr && *stop == ',')
      throw ArgumentError(fmt::format(
          "device '{}' names several GPUs, this work takes one: auto, cpu, reference, cuda or cuda:N", word));
  }
  throw ArgumentError(
      fmt::format("device '{}' is unknown, expected auto, cpu, reference, cuda or cuda:N", word));
}

std::string to_string(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device d : devices)
    names.push_back(!names.empty() && d.kind == DeviceKind::cuda ? fmt::format("{}", d.index) : to_string(d));
  return fmt::format("{}", fmt::join(names, ","));
}

std::vector<Device> parse_devices(const std::string& word) {
  if (word.find(',') == std::string::npos) return {parse_device(word)};
  std::vector<Device> devices;
  const char* end = word.data() + word.size();
  const bool is_list = word.rfind(gpu_prefix, 0) == 0;
  for (const char* next = is_list ? word.data() + 5 : nullptr; next != nullptr; ++next) {
    Device gpu{DeviceKind::cuda, -1};
    next = read_index(next, end, gpu.index);
    if (next == nullptr || (next != end && *next != ',')) break;
    if (std::find(devices.begin(), devices.end(), gpu) != devices.end())
      throw ArgumentError(
          fmt::format("device '{}' names GPU {} twice, expected different ones: cuda:0,1", word, gpu.index));
    devices.push_back(gpu);
    if (next == end) return devices;
  }
  throw ArgumentError(
      fmt::format("device '{}' is no list of GPUs, expected their numbers as in cuda:0,1", word));
}

}  // namespace spinloom
